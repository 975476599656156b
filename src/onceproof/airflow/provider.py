"""This package's entry in Airflow's list of providers."""

from __future__ import annotations

from typing import Any

_INTEGRATION = "Onceproof"


def get_provider_info() -> dict[str, Any]:
    """Return the provider metadata in Airflow's schema.

    The plugin is not in it: its entry point registers it, and Airflow refuses to register it twice.
    """
    modules = {
        "operators": ["onceproof.airflow.operators", "onceproof.airflow.night_operators"],
        "triggers": ["onceproof.airflow.operators"],
        "bundles": ["onceproof.airflow.bundle"],
    }
    of_ours = {
        kind: [{"integration-name": _INTEGRATION, "python-modules": names}]
        for kind, names in modules.items()
    }
    return {
        "package-name": "onceproof",
        "name": "Onceproof",
        "description": "Chaos tests of Spark streaming jobs, as DAGs with verdicts.",
        "integrations": [{"integration-name": _INTEGRATION, "tags": ["software"]}],
        **of_ours,
    }
