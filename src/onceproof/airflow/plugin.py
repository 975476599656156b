"""The Airflow plugin: nights in the navigation, and a verdict tab for each DAG run.

Every Airflow component imports this file, so it imports nothing else until a page is requested.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from airflow.plugins_manager import AirflowPlugin


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer a request to /onceproof."""
    await _pages()(scope, receive, send)


@cache
def _pages() -> Any:
    # The application refuses users without read access to the DAG.
    from airflow.api_fastapi.core_api.security import requires_access_dag
    from fastapi import Depends, FastAPI
    from fastapi.responses import HTMLResponse

    from onceproof.web import serving

    def answer(page: serving.Page) -> Any:
        return HTMLResponse(page.html, page.status, dict(page.headers))

    # FastAPI's own documentation pages would load scripts from other hosts.
    no_docs_pages: Any = {"docs_url": None, "redoc_url": None, "openapi_url": None}
    reads_the_dag = Depends(requires_access_dag("GET", param_dag_id=serving.DAG))
    pages = FastAPI(title="Onceproof", dependencies=[reads_the_dag], **no_docs_pages)

    @pages.get("/nights")
    def nights() -> Any:
        return answer(serving.nights_page())

    @pages.get("/run")
    def run(dag_run: str = "", dag: str = serving.DAG) -> Any:
        return answer(serving.run_page(dag, dag_run))

    @pages.get("/report/{run:path}")
    def report(run: str) -> Any:
        return answer(serving.report_page(run))

    return pages


class OnceproofPlugin(AirflowPlugin):
    """The additions to Airflow's UI: a navigation entry, and a tab for each DAG run."""

    name = "onceproof"
    fastapi_apps = [{"app": app, "url_prefix": "/onceproof", "name": "Onceproof"}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        {
            "name": "Onceproof",
            "href": "onceproof/nights",
            "destination": "nav",
            "url_route": "onceproof",
        },
        {
            "name": "Verdict",
            "href": "onceproof/run?dag={DAG_ID}&dag_run={RUN_ID}",
            "destination": "dag_run",
            "url_route": "onceproof-verdict",
        },
    ]
