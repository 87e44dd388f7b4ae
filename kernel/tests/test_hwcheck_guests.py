# SPDX-License-Identifier: GPL-2.0-only
"""`keepon hwcheck` on simulated NICs, in a guest that has a Python of nothing but what the command
imports.

A NIC that fetches deeper than its driver says is found, whether its index shows that or not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from guest_python import PYTHON, python_files
from jsonschema import Draft202012Validator
from keepon.model import document_schemas
from keepon_guests import build_modules, get_kernel, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
NAMES = ("done", "fetch", "written_back", "alone", "deeper_done", "deeper_fetch", "generic")

# Runs the command as far as it goes here.
TRIED = """
import keepon_host.hwcheck
import keepon_host.__main__
from keepon_host.cli import main
if main(["hwcheck", "lo", "--backend", "none"]) != 2:
    sys.exit("a backend of that name?")
"""


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("hwcheck")
    kernel = get_kernel("6.1")
    modules = build_modules(
        kernel, [KERNEL / name for name in ("native", "hwsim", "generic", "hwcheck")]
    )
    files = {"/lib/keepon/common.sh": HERE / "keepon_common.sh", **python_files(TRIED, folder)}
    result = run_guest(
        kernel, HERE / "hwcheck.sh", files, modules=modules, tools=[PYTHON, "ethtool"],
        environment={"PYTHON": PYTHON.name}, timeout_s=1200,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    return {name: json.loads(result.files[f"{name}.json"]) for name in NAMES}


def test_documents_are_as_their_schema_says(documents: dict[str, dict[str, Any]]) -> None:
    validator = Draft202012Validator(
        json.loads((document_schemas.FOLDER / "hwcheck.schema.json").read_text())
    )
    for document in documents.values():
        validator.validate(document)


@pytest.mark.parametrize(
    ("name", "depth", "ahead"), [("done", 8, 0), ("fetch", 12, 13), ("written_back", 4, 0)]
)
def test_a_card_that_does_what_it_says(
    documents: dict[str, dict[str, Any]], name: str, depth: int, ahead: int
) -> None:
    """Depth to a slot, the crystals' difference as sharp as said, frames of all further slots
    arrived.
    """
    document = documents[name]
    measured = document["measured"]
    # the wire may have gone on by a slot while a frame was written
    assert (
        depth - 1 <= measured["prefetch_slots"] <= depth == document["caps"]["prefetch_slots_max"]
    )
    assert measured["pace_within_ppm"] <= 120
    assert measured["pace_ppm"] == pytest.approx(-20, abs=measured["pace_within_ppm"])
    assert measured["index_ahead_slots"] == pytest.approx(ahead, abs=0.5)
    assert measured["bad_fcs_leaves"] is True
    assert measured["frames_arrived"] < measured["frames_sent"]
    proven = [found["holds"] for found in document["findings"] if found["name"] == "fragments"]
    assert proven == ([] if name == "done" else [True])
    assert document["safe"] is True


def test_a_card_that_fetches_deeper_than_said(documents: dict[str, dict[str, Any]]) -> None:
    for name, depth in (("deeper_done", 16), ("deeper_fetch", 32)):
        document = documents[name]
        holds = {finding["name"]: finding["holds"] for finding in document["findings"]}
        assert document["caps"]["prefetch_slots_max"] == 4
        assert depth - 1 <= document["measured"]["prefetch_slots"] <= depth
        assert holds["prefetch"] is False
        assert holds["pace"] is True
        assert document["safe"] is False


def test_a_ring_over_any_driver_keeps_what_was_measured_of_it(
    documents: dict[str, dict[str, Any]],
) -> None:
    document = documents["generic"]
    assert document["backend"] == "generic"
    assert document["caps"]["index_counts_done"] == 0
    assert document["measured"]["index_ahead_slots"] < 0.5, (
        "this driver gives frames back once they have left"
    )
    assert document["measured"]["prefetch_slots"] <= document["caps"]["prefetch_slots_max"]
    assert document["safe"] is True
