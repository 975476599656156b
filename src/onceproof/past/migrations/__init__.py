"""What makes the tables of the verdict history, and changes them from one version to the next."""
