"""`onceproof_gate`: the release decision for a version, from the verdicts of its runs."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Param, TriggerRule, task
from airflow.sdk.exceptions import AirflowFailException

from onceproof.airflow.night_operators import GateOperator

PARAMS = {
    "policy": Param(
        os.environ.get("ONCEPROOF_POLICY", ""),
        type="string",
        description="The policy file with the required passes; see docs/gate/policy.md. Empty: "
        "gate.yaml beside the folder of runs.",
    ),
    "version": Param(
        "", type="string", description="The version: exactly the `subject` of its runs."
    ),
    "approval": Param(
        False,
        type="boolean",
        description="Ask for approval if the gate is closed. No answer within an hour rejects it.",
    ),
}
REASONS = "ti.xcom_pull(task_ids='decide')['reasons']"
CLOSED = "{% for one in " + REASONS + " %}- {{ one.scenario }}: {{ one.reason }}\n{% endfor %}"

with DAG(
    "onceproof_gate",
    description="Opens the gate for a version, or fails with the reasons that close it.",
    schedule=None,
    params=PARAMS,
    default_args={"retries": 0},
    tags=["onceproof"],
    doc_md=__doc__,
) as dag:
    decide = GateOperator(
        task_id="decide", policy="{{ params.policy }}", version="{{ params.version }}"
    )

    @task.branch
    def route(params: dict[str, Any], ti: Any) -> str:
        """Ask for approval only if the gate is closed and `approval` is set."""
        is_open = ti.xcom_pull(task_ids="decide")["open"]
        return "approval" if params["approval"] and not is_open else "gate"

    approval = ApprovalOperator(
        task_id="approval",
        subject="The gate is closed for {{ params.version }}. Release it anyway?",
        body=CLOSED,
        defaults="Reject",
        fail_on_reject=True,
        response_timeout=timedelta(minutes=60),
    )

    @task(trigger_rule=TriggerRule.NONE_FAILED_MIN_ONE_SUCCESS)
    def gate(ti: Any) -> dict[str, Any]:
        """Succeed if the gate is open or a person approved the release."""
        decision = ti.xcom_pull(task_ids="decide")
        approved = ti.xcom_pull(task_ids="approval")
        if not decision["open"] and not approved:
            reasons = "; ".join(one["reason"] for one in decision["reasons"])
            raise AirflowFailException(f"the gate is closed for {decision['version']}: {reasons}")
        return {"open": decision["open"], "approved": approved}

    routed, end = route(), gate()
    decide >> routed >> [approval, end]
    approval >> end
