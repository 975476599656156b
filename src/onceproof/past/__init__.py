"""The verdict history: a row for every judged run, and the accepted known issues."""
