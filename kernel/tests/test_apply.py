# SPDX-License-Identifier: GPL-2.0-only
"""`keepon apply` in guests that have a Python of nothing but what the command imports: what it sets
up works, and everything it did is put back, whatever happens to it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from guest_python import PYTHON, python_files
from keepon.cli import session
from keepon.linux.apply import steps
from keepon.linux.station import Machine, setup
from keepon.model import loading
from keepon.vm import GuestResult, build_modules, get_kernel, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
MODULES = ("native", "hwsim", "keepon")
# Runs the command as far as it goes anywhere; the scripts give it a terminal.
TRIED = """
import pty
import keepon.linux.apply.watcher
import keepon.linux.link.__main__
from keepon.linux.apply.__main__ import main
if main(["apply", "/dev/null"]) != 2:
    sys.exit("no steps are enough?")
"""
# Example, station, mode of its card
STATIONS = {
    "keepon": ("robot-cell", "controller", "ring"),
    "launchtime": ("habitat", "rt-simulator", "launchtime"),
}
# One boot of each script in make test, the others in make soak.
KINDS = ["keepon", pytest.param("launchtime", marks=pytest.mark.soak)]


def station_steps(kind: str) -> bytes:
    """The steps of an example's station, as keepon apply --dry-run --json writes them."""
    example, name, _ = STATIONS[kind]
    scenario = loading.load(EXAMPLES / f"{example}.toml")
    machine = Machine(scenario, session.planned(scenario), "keepon")
    found = setup(machine, scenario.station_named(name))
    return json.dumps(steps.to_document(found)).encode()


def boot(script: str, kind: str, folder: Path) -> GuestResult:
    kernel = get_kernel("6.1")
    files = {
        **python_files(TRIED, folder),
        "/lib/keepon/apply.sh": HERE / "apply_common.sh",
        f"/steps/{kind}": station_steps(kind),
    }
    device = "rt0" if kind == "keepon" else "eth0"
    result = run_guest(
        kernel, HERE / script, files,
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]), tools=[PYTHON],
        environment={
            "PYTHON": PYTHON.name, "STEPS": kind, "MODE": STATIONS[kind][2], "DEVICE": device,
            "PING": "1",
        },
        timeout_s=1800,
    )  # fmt: skip
    print(result.stdout)
    return result.check()


@pytest.mark.parametrize("kind", KINDS)
def test_a_station_is_applied_and_put_back(kind: str, tmp_path: Path) -> None:
    assert boot("apply_station.sh", kind, tmp_path).tap.problems() == []


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_happens_all_is_put_back(kind: str, tmp_path: Path) -> None:
    """Faults of journal, link, connection and machine, and a kill -9 at each command."""
    assert boot("apply_faults.sh", kind, tmp_path).tap.problems() == []
