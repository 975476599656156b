"""Sinks that write Kafka topics, and the reader of a topic."""
