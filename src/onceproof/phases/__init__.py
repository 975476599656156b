"""Phases are functions on a run directory; each may be repeated safely."""
