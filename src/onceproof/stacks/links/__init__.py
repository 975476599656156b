"""The links between members: a proxy that delays, drops and cuts connections."""
