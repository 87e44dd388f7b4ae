# SPDX-License-Identifier: GPL-2.0-only
"""`keepon run SCENARIO --target host` as a person types it: one process in a guest that plans,
runs, judges and writes the result folder, with all packages that Keepon is installed with.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from guest_python import PYTHON, python_files
from keepon.model import documents
from keepon.model.result import RunResult
from keepon.targets.vm import programs
from keepon_guests import build_modules, get_kernel, run_guest

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "two-stations.toml"
MODULES = ("native", "keepon", "hwsim")
# Imports what the command does: all of it but the machine's part is that of target sim, too.
TRIED = f"""
import tempfile
import keepon.__main__, keepon.targets.host.target
folder = tempfile.TemporaryDirectory()
sys.argv = ["keepon", "run", {str(EXAMPLE)!r}, "--duration", "0.01", "--out", folder.name + "/out"]
try:
    keepon.__main__.main()
except SystemExit as end:
    if end.code:
        sys.exit(f"keepon run: exit code {{end.code}}")
"""


def scenario_text() -> bytes:
    """The example, with longer and fewer polls: they are most of what a guest has to do."""
    text = EXAMPLE.read_text().replace("batch_slots = 8", "batch_slots = 32\nring_slots = 128")
    return text.encode()


@pytest.mark.vm
@pytest.mark.soak
def test_the_whole_command_runs_on_a_machine(tmp_path: Path) -> None:
    kernel = get_kernel("6.1")
    result = run_guest(
        kernel, HERE / "host_command.sh",
        {
            "/lib/keepon/host.sh": HERE / "host_common.sh", "/lib/keepon/two.toml": scenario_text(),
            **python_files(TRIED, tmp_path, packages=True), **programs.guest_files(),
        },
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]),
        tools=[PYTHON, *programs.tools()], environment={"PYTHON": PYTHON.name},
        memory_mb=1024, timeout_s=1800,
    )  # fmt: skip
    print(result.stdout)
    result.check()
    assert result.tap.problems() == []
    files = {
        name.removeprefix("run/"): data
        for name, data in result.files.items()
        if name.startswith("run/")
    }
    assert set(files) == {
        documents.SCENARIO_FILE, documents.PLAN_FILE, documents.RESULT_FILE,
        documents.CAPTURE_FILE, documents.REPORT_FILE, "packets-keepon-S1.csv",
    }  # fmt: skip
    document = json.loads(files[documents.RESULT_FILE])
    jsonschema.Draft202012Validator(documents.json_schema("result")).validate(document)
    (run,) = document["runs"]
    assert (document["target"], run["outcome"], run["met"]) == ("host", "met", True)
    judged(run)
    said = result.files["said"].decode()
    assert "keepon: met: 1000 frames due; every bound kept" in said
    assert "result folder: /out/run" in said


def judged(run: RunResult) -> None:
    stream = run["streams"]["S1"]
    assert stream["due"] == stream["delivered"] == 1000
    assert sum(stream["verdicts"].values()) == 1000
    assert stream["stamps"]["listeners"] == {"listener": "hardware stamps of the card"}
