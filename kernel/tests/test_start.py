# SPDX-License-Identifier: GPL-2.0-only
"""`keepon start` in guests that have a Python of nothing but what the command imports: what it sets
up works, and everything it did is put back, whatever happens to it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cells import EXAMPLES, RATE_BPS, ptp_cell
from guest_python import PYTHON, python_files
from keepon.cli import session
from keepon.machines.station import Machine, setup
from keepon.model import loading
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from keepon_host.start import steps

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
MODULES = ("native", "hwsim", "keepon")
# Runs the command as far as it goes anywhere.
TRIED = """
import keepon_host.__main__
import keepon_host.link.view
from keepon_host.cli import main
from keepon_host.start import command, direct, status
if main(["start", "--steps", "/dev/null"]) != 2:
    sys.exit("no steps are enough?")
"""
# Scenario, station, mode and rate of its card
STATIONS = {
    "keepon": (ptp_cell(), "talker", "ring", RATE_BPS),
    "launchtime": (
        (EXAMPLES / "habitat.toml").read_text(), "rt-simulator", "launchtime", 1_000_000_000,
    ),
}  # fmt: skip
# One boot of each script in make test, the others in make soak.
BOOTS = [
    ("keepon", "6.1"),
    *(
        pytest.param(kind, family, marks=pytest.mark.soak)
        for kind, family in (("launchtime", "6.1"), ("keepon", "6.12"), ("launchtime", "6.12"))
    ),
]


def station_steps(kind: str) -> bytes:
    """The steps of an example's station, as keepon start --dry-run --json writes them."""
    text, name, _, _ = STATIONS[kind]
    scenario = loading.parse(text, kind)
    machine = Machine(scenario, session.planned(scenario), "keepon")
    found = setup(machine, scenario.station_named(name))
    return json.dumps(steps.to_document(found)).encode()


def boot(script: str, kind: str, family: str, folder: Path, **more: str) -> GuestResult:
    kernel = get_kernel(family)
    files = {
        **python_files(TRIED, folder),
        "/lib/keepon/start.sh": HERE / "start_common.sh",
        f"/steps/{kind}": station_steps(kind),
    }
    _, _, mode, rate_bps = STATIONS[kind]
    result = run_guest(
        kernel, HERE / script, files,
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]), tools=[PYTHON],
        environment={
            "PYTHON": PYTHON.name, "STEPS": kind, "MODE": mode, "RATE": str(rate_bps),
            "DEVICE": "rt0" if kind == "keepon" else "eth0", **more,
        },
        timeout_s=1800,
    )  # fmt: skip
    print(result.stdout)
    return result.check()


@pytest.mark.parametrize(("kind", "family"), BOOTS)
def test_a_card_is_started_and_put_back(kind: str, family: str, tmp_path: Path) -> None:
    assert boot("start_station.sh", kind, family, tmp_path).tap.problems() == []


def test_what_may_happen_is_put_back(tmp_path: Path) -> None:
    """Faults of journal, link, connection and machine, and a kill -9 at the first two commands."""
    result = boot("start_faults.sh", "keepon", "6.1", tmp_path, KILLS="2")
    assert result.tap.problems() == []


@pytest.mark.full
@pytest.mark.parametrize(("kind", "family"), BOOTS)
def test_whatever_happens_all_is_put_back(kind: str, family: str, tmp_path: Path) -> None:
    """Faults of journal, link, connection and machine, and a kill -9 at each command."""
    assert boot("start_faults.sh", kind, family, tmp_path).tap.problems() == []


@pytest.mark.soak
@pytest.mark.parametrize("kind", STATIONS)
def test_faults_by_chance_are_put_back(kind: str, tmp_path: Path) -> None:
    """A dozen kinds at whatever command, more of them than anybody would write down."""
    result = boot("start_random.sh", kind, "6.1", tmp_path, SEED="1", CASES="40")
    assert result.tap.problems() == []
