# SPDX-License-Identifier: GPL-2.0-only
"""`keepon doctor` in a guest that has a Python of nothing but what the command imports: on a card
that does what it should, and on problems that are gone once the printed command was run.
"""

from __future__ import annotations

import _ctypes
import json
from pathlib import Path
from typing import Any

import pytest
from guest_pair import bridge, emulator, namespace
from guest_python import PYTHON, python_files
from jsonschema import Draft202012Validator
from keepon.model import document_schemas
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from test_nics import OURS, card

pytestmark = pytest.mark.vm

CTYPES = Path(str(_ctypes.__file__))
"""The part of ctypes that is no Python."""
HERE = Path(__file__).parent
MODULES = ("native", "keepon", "hwsim", "generic", "nics/intel", "hwcheck")
# Runs the command as far as it goes anywhere; site is for the python3 of a printed command.
TRIED = """
import contextlib
import site
import keepon_host.doctor
import keepon_host.__main__
from keepon_host.cli import main
with contextlib.redirect_stdout(sys.stderr):
    if main(["doctor", "lo", "--measure"]) != 2 or main(["doctor", "lo"]) not in (1, 4):
        sys.exit("lo is a card?")
"""


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> GuestResult:
    kernel = get_kernel("6.1", "rt")
    files = python_files(TRIED, tmp_path_factory.mktemp("doctor"))
    return run_guest(
        kernel, HERE / "doctor_machine.sh", files,
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]),
        tools=[PYTHON, CTYPES, "ethtool"], environment={"CARD": OURS, "PYTHON": PYTHON.name},
        qemu_args=card("e1000e", 1, OURS), timeout_s=1200,
    ).check()  # fmt: skip


def document(guest: GuestResult, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(guest.files[f"{name}.json"])
    schema = json.loads((document_schemas.FOLDER / "doctor.schema.json").read_text())
    Draft202012Validator(schema).validate(found)
    return found


def states(found: dict[str, Any], about: str) -> dict[str, str]:
    return {each["name"]: each["state"] for each in found["checks"] if each["about"] == about}


def test_each_printed_command_mends_its_problem(guest: GuestResult) -> None:
    assert guest.tap.problems() == []


def test_a_card_that_does_what_it_should_is_ok(guest: GuestResult) -> None:
    """All of it, pace and bad FCS measured."""
    found = document(guest, "card")
    card_states = states(found, "sim0")
    assert len(card_states) == 13
    assert set(card_states.values()) == {"ok"}
    machine = states(found, "machine")
    for name in ("keepon", "keepon_native", "keepon_generic", "keepon_intel", "clock writers"):
        assert machine[name] == "ok", name
    assert machine["TAI offset"] == "unknown"


def test_clocks_that_nobody_sets_are_listed(guest: GuestResult) -> None:
    """The system's clock, and the card's PHC once it is at 1970, each with the command that
    synchronises them.
    """
    found = {each["name"]: each for each in document(guest, "unset")["checks"]}
    for name in ("system clock", "PHC's time"):
        assert found[name]["state"] == "note"
        assert "not synchronised" in found[name]["found"]
        assert "phc2sys" in found[name]["remedy"]


def test_all_cards_are_listed_in_a_line_each(guest: GuestResult) -> None:
    found = document(guest, "machine")
    cards = [each["about"] for each in found["checks"] if each["name"] == "driver"]
    assert {"sim0"} < set(cards)
    assert "lo" not in cards
    intel = next(each for each in found["checks"] if "82574L" in each["found"])
    assert intel["state"] == "note"


def test_anybody_may_ask(guest: GuestResult) -> None:
    """Without root: what it may not see is unknown, and the rest as before."""
    theirs = states(document(guest, "anybody"), "sim0")
    roots = states(document(guest, "card"), "sim0")
    unknown = {name for name, state in theirs.items() if state == "unknown"}
    assert unknown == {"pace", "bad FCS", "driver's limits", "PHC's time"}
    assert all(theirs[name] == roots[name] for name in theirs if name not in unknown)


def test_text_in_a_guest_is_plain(guest: GuestResult) -> None:
    text = guest.files["card.txt"].decode()
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines() if " $ " not in line) <= 80


def test_a_guest_with_queues_of_virtio(tmp_path: Path) -> None:
    """Four queues on one vCPU: the kernel takes them, and gates with them, without a word."""
    with namespace() as within, bridge(within, tmp_path) as (net, _):
        guest = run_guest(
            get_kernel("6.12"), HERE / "guest_doctor.sh", python_files(TRIED, tmp_path),
            tools=[PYTHON, CTYPES, "ethtool"], environment={"PYTHON": PYTHON.name}, mode="smp",
            qemu_args=["-smp", "1", *net, "-device", "virtio-net-pci,netdev=net,mq=on,romfile="],
            qemu=emulator(within, tmp_path),
        ).check()  # fmt: skip
    assert guest.tap.problems() == [], guest.stdout
    found = {
        case: {each["name"]: each for each in document(guest, case)["checks"]}
        for case in ("first", "many", "mended")
    }
    first, many, mended = found.values()
    assert first["guest"]["found"].startswith("it is a guest of QEMU: its host must give each of")
    assert first["clock source"]["state"] in ("ok", "problem")  # as QEMU finds the host's TSC
    assert first["host's clock"]["state"] == "note"  # without KVM there is none
    names = ("driver", "queues", "link")
    states = [[each[name]["state"] for name in names] for each in found.values()]
    assert states == [["note", "ok", "note"], ["note", "problem", "note"], ["note", "ok", "ok"]]
    assert many["queues"]["found"] == "4 of 4 queues, 1 vCPU: a queue takes a vCPU of its own"
    assert many["link"]["remedy"] == "ethtool -s eth0 speed 1000 duplex full"
    assert mended["link"]["found"] == "1000 Mb/s"
