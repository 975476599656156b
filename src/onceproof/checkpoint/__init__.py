"""Reading, checking and archiving a Spark checkpoint, ours or anybody's; never writing into it."""
