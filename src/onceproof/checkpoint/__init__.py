"""Reading, checking, archiving and damaging the checkpoint of any Spark job."""
