# SPDX-License-Identifier: BSD-3-Clause
"""The report of a case study over a document as it is, of fewer streams, and damaged."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from helpers import HABITAT

from keepon.cli import app as cli
from keepon.errors import EXIT_INPUT, EXIT_MET


@pytest.mark.slow
def test_streams_and_stations_that_parts_name_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def keepon(*words: object) -> int:
        monkeypatch.setattr(sys, "argv", ["keepon", *map(str, words)])
        return cli.main()

    out = tmp_path / "r"
    few = ("--duration", 0.02, "--seeds", 2, "--capture-frames", 0)
    keepon("reproduce", HABITAT, *few, "--out", out)
    path = out / "reproduction.json"
    document = json.loads(path.read_text())
    # The table of seeds, which is shown if there was a cascade, has the streams that there are.
    cascade, paper = document["parts"]["cascade"], document["parts"]["slot_200"]
    cascade["summary"]["with_cascade"] = 1
    for seed in cascade["seeds"]:
        seed["streams"].pop("F8")
    path.write_text(json.dumps(document))
    assert keepon("report", out) == EXIT_MET
    page = (out / "report.html").read_text()
    assert "F7: share a period late" in page and "F8: share a period late" not in page
    for around, name, where in (
        (cascade["seeds"][1]["streams"], "F7", "cascade.seeds[1].streams"),
        (paper["stations"], paper["streams"]["F2"]["talker"], "slot_200.stations"),
    ):
        entry = around.pop(name)
        path.write_text(json.dumps(document))
        capsys.readouterr()
        assert keepon("report", out) == EXIT_INPUT
        printed = capsys.readouterr().err
        assert f'reproduction.json: key `parts.{where}` lacks "{name}"' in printed, printed
        around[name] = entry
