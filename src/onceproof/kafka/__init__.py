"""Clients of Kafka brokers, and the security settings that all of them share."""
