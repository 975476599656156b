"""The comparison on a Spark cluster, for `onceproof diff`."""
