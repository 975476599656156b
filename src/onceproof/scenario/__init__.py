"""Scenarios: pipeline, workload, sink and faults as data, read from YAML, checked, catalogued."""

from onceproof.scenario.catalogue import find_scenario, load_catalogue
from onceproof.scenario.model import Scenario

__all__ = ["Scenario", "find_scenario", "load_catalogue"]
