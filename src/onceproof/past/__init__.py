"""The verdict history: every judged run as one row, and the known issues that people accept."""
