"""One file a migration; each is listed in `tables.REVISIONS`, and never changed once released."""
