"""The migrations of the verdict history: they create its tables and change them by version."""
