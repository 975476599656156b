"""One scenario of the catalogue for each family of faults, on a stack with links."""

import json
import os

import pytest

from onceproof.stacks.links.member import tell
from tests.system.command import run

pytestmark = [pytest.mark.stack, pytest.mark.spark, pytest.mark.system]


@pytest.fixture
def stack(linked_stack):
    return linked_stack


FAMILIES = {
    "network": "copy_events__two_phase_table__cut_store",
    "source": "copy_events__two_phase_table__aborted_input",
    "resources": "copy_events__two_phase_table__checkpoint_disk_full",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_strikes_is_healed_and_claims_what_holds(stack, tmp_path, family):
    if family == "resources" and os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    words = ["run", FAMILIES[family], "--seed", 7, "--runs", tmp_path / "runs", "--json"]
    code, out, said = run(*words, "--home", stack.state.folder, timeout_s=280)
    assert out, said
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "PASS"), found["reasons"]
    assert [fault["landed"] for fault in found["faults"]] == [True]
    assert tell(stack.state, {"do": "look"})["in_force"] == []
    assert not os.path.ismount(f"{found['run']}/checkpoint")
