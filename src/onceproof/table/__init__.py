"""The table of sources and sink families: the promised and the measured guarantee of each pair."""
