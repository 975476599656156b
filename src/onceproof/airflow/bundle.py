"""A DAG bundle for the DAGs in the installed package; its configuration needs no path."""

from __future__ import annotations

from typing import Any

from airflow.dag_processing.bundles.local import LocalDagBundle

from onceproof.machine.home import dags_folder


class OnceproofDagBundle(LocalDagBundle):
    """Our three DAGs from the installed package; the bundle's version is the package's."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(path=str(dags_folder()), **kwargs)
