# SPDX-License-Identifier: BSD-3-Clause
"""`keepon start`, `stop` and `status` as typed: what they show, and what they refuse. What they do
to interfaces is in kernel/tests/test_start.py.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from keepon.cli import session
from keepon.cli.app import main
from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.model import loading
from keepon_host import bind, journal
from keepon_host.journal import STARTED, STARTING, Journal
from keepon_host.start import command, driver, needs, perform, status, steps, undo
from keepon_host.start.direct import direct

ROOT = Path(__file__).parents[3]
CELL = ROOT / "examples" / "robot-cell.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan, and its scenario beside it."""
    made = tmp_path_factory.mktemp("start")
    scenario = loading.load(CELL)
    (made / "plan.json").write_text(json.dumps(session.planned(scenario)))
    (made / f"{scenario.name}.toml").write_text(CELL.read_text())
    return made


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def keepon(*words: object) -> Done:
    """The command, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(out), redirect_stderr(err):
        patched.setattr(sys, "argv", ["keepon", *map(str, words)])
        code = main()
    return Done(code, out.getvalue(), err.getvalue())


def planned(folder: Path, nic: str, *words: object) -> Done:
    plan = ["start", nic, "--plan", folder / "plan.json", "--station", "controller"]
    return keepon(*plan, *words)


def test_steps_are_printed_for_a_machine_with_nothing_but_python(folder: Path) -> None:
    done = planned(folder, "enp1s0", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    setup = steps.of_document(json.loads(done.stdout))
    assert setup.nic == "enp1s0" and setup.device == "rt0"
    config = setup.files["controller-ptp4l.cfg"]
    assert "\n[enp1s0]\n" in config, "rt0 hears nothing"
    (link,) = [step for step in setup.steps if isinstance(step, steps.AddKeepon)]
    assert "receive" not in link.options
    assert "priorities" not in link.options, "PTP has the class of priority 0"


def test_a_dry_run_shows_every_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """lo is an interface everywhere; what it lacks is said behind the commands."""
    monkeypatch.setattr(driver, "driver_of", lambda name: "keepon_hwsim")
    done = planned(folder, "lo", "--dry-run")
    for start in (
        "modprobe keepon", "ethtool -A lo autoneg off rx off tx off",
        "ethtool --set-eee lo eee off", "ip link set dev lo up",
        "keepon link add lo rt0 mtu 1500 mode phase-locked slot_bytes 180",
        "tc qdisc add dev rt0 root handle 100: mqprio", "ip link add link rt0 name rt0.0 type vlan",
        "ptp4l -H -m -f /run/keepon/controller-ptp4l.cfg", "phc2sys -s rt0 -c CLOCK_REALTIME",
    ):  # fmt: skip
        assert f"\n{start}" in done.stdout, start


def test_a_link_without_a_plan_needs_no_options() -> None:
    setup = direct("eth0", "eth0", "rt0", 0, (), "none")
    assert setup.steps == (
        steps.PauseOff("eth0"), steps.EeeOff("eth0"), steps.Linked("eth0", 0),
        steps.AddKeepon("eth0", "rt0", ("txtime", "tai")), steps.SetUp("rt0"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("options", "ptp", "expected"),
    [
        ((), "none", ("txtime", "tai")),
        (("txtime", "phc"), "none", ("txtime", "phc")),
        ((), "lead", ()),
    ],
)
def test_txtimes_are_of_the_clock_that_is_set(
    options: tuple[str, ...], ptp: str, expected: tuple[str, ...]
) -> None:
    found = direct("eth0", "eth0", "rt0", 0, options, ptp)
    (link,) = [step for step in found.steps if isinstance(step, steps.AddKeepon)]
    assert link.options == expected


@pytest.mark.parametrize(
    ("name", "wanted", "way"),
    [
        ("keepon_hwsim", "auto", driver.NATIVE), ("keepon_hwsim", "kernel", driver.NATIVE),
        ("keepon_intel", "auto", driver.NATIVE), ("igb", "auto", driver.BIND),
        ("igb", "kernel", driver.GENERIC), ("r8169", "auto", driver.GENERIC),
        ("r8169", "keepon", driver.BIND), ("keepon_intel", "kernel", "give it back first"),
        ("veth", "auto", "veth.: a virtual card"), ("igb", "ours", "must be one of auto, keepon"),
    ],
)  # fmt: skip
def test_a_card_gets_the_driver_that_it_needs(
    name: str, wanted: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "driver_of", lambda nic: name)
    monkeypatch.setattr(driver.Tree, "chip", lambda *_: ["8086:1533"] if name == "igb" else [])
    monkeypatch.setattr(driver.Tree, "is_card", lambda *_: name == "r8169")
    if " " not in way:
        assert driver.way("eth0", wanted) == way
        return
    with pytest.raises((ConfigError, EnvironmentProblemError), match=way):
        driver.way("eth0", wanted)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lo", "--station", "nobody"], 'option --station = "nobody": is none of the'),
        (["lo"], "option --station is missing; name one of camera1, "),
        ([], "argument NIC: is missing"),
        (["no such"], 'argument NIC = "no such": must be'),
        (["rt0", "--station", "controller"], "must differ from the card"),
        (
            ["eth77", "--station", "controller"],
            'argument NIC = "eth77": is no interface here; there are ',
        ),
        (
            ["lo", "--station", "controller", "--rollback", "0"],
            "option --rollback = 0: must be above 0 and at most 3600 seconds",
        ),
        (["lo", "--station", "controller", "--json"], "option --json: is for --dry-run"),
        (["lo", "slot_bytes", "100"], "argument OPTION: has no use with option --plan"),
        (["lo", "--ptp", "lead"], "option --ptp: has no use with option --plan"),
        (["--boot", "cell"], "option --plan: has no use with option --boot; leave one of"),
    ],
)
def test_what_is_not_right_is_refused_in_one_sentence(
    folder: Path, words: list[str], sentence: str
) -> None:
    done = keepon("start", *words, "--plan", folder / "plan.json")
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["start", "--boot", "cell", "--link", "rt0"], "option --link: has no use with"),
        (["start", "lo", "--station", "a"], "option --station: is for --plan; add that"),
        (["start", "lo", "--ptp", "slave"], 'option --ptp = "slave": must be none, follow or'),
        (["start", "lo", "slot_bytes", "x"], 'slot_bytes "x" is no number from 64 to'),
        (["stop", "lo", "--boot", "cell"], "argument NIC: has no use with option --boot"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: list[str], sentence: str) -> None:
    done = keepon(*words)
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_scenario_that_is_not_beside_its_plan_must_be_named(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "plan.json"
    alone.write_text((folder / "plan.json").read_text())
    words = ["start", "lo", "--plan", alone, "--station", "controller", "--dry-run", "--json"]
    done = keepon(*words)
    assert done.returncode == 2 and "option --scenario: is missing" in done.stderr
    assert keepon(*words, "--scenario", CELL).returncode == 0


def test_a_plan_that_leaves_the_card_no_slots_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mtu, carries in ((None, "nothing"), (576, "an MTU of 576")):
        monkeypatch.setattr("keepon.machines.planned.mtu_of", lambda *_, mtu=mtu: mtu)
        done = planned(folder, "lo", "--dry-run", "--json")
        assert done.returncode == 2
        assert f"frames of its own carry {carries}, and it needs 1500" in done.stderr


def test_nothing_to_put_back_is_said() -> None:
    done = keepon("stop", "lo")
    assert done.returncode in (2, 3) and done.stderr.count("\n") == 1
    assert "set up nothing there" in done.stderr or "use sudo" in done.stderr


@pytest.mark.parametrize(
    ("module", "words", "sentence"),
    [
        (command, ["start", "eth7"], "eth7 is as it was"),
        (command, ["stop"], "not all may be as it was; say keepon stop again"),
        (bind, ["bind", "eth7"], "the card is as it was"),
        (bind, ["unbind", "eth7"], "the card is as it was"),
    ],
)
def test_an_interrupt_is_answered_once_with_the_state(
    module: ModuleType, words: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, words[0], interrupted)
    assert keepon(*words) == (130, "", f"keepon: interrupted; {sentence}\n")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """lo is a card of hwsim whose steps do nothing, or fail where `fails` says so."""
    monkeypatch.setattr(journal, "FOLDER", tmp_path)
    monkeypatch.setattr(command.driver, "way", lambda *_: driver.NATIVE)
    monkeypatch.setattr(command.before, "of_setup", lambda setup: [[] for _ in setup.steps])
    monkeypatch.setattr(command, "has_carrier", lambda nic: True)
    for name in ("check_root", "check"):
        monkeypatch.setattr(needs, name, lambda *_: None)
    fails: list[str] = []

    def performed(step: steps.Step, *_: object) -> None:
        if type(step).__name__ in fails:
            raise EnvironmentProblemError(f"{type(step).__name__} fails")

    monkeypatch.setattr(perform, "perform", performed)
    return fails


def started(say: list[str]) -> str:
    return command.start(
        direct("lo", "lo", "rt0", 0, (), "none"), "auto", 1, False, lambda line: say.append(line)
    )


def test_a_card_is_started_once_and_stopped_once(machine: list[str], tmp_path: Path) -> None:
    assert started([]) == "lo has link rt0; keepon stop lo takes it away"
    (kept,) = journal.journals()
    assert (kept.state, kept.begun, kept.title) == (STARTED, 6, "link rt0")
    with pytest.raises(EnvironmentProblemError, match="lo is set up already, as link rt0; put tha"):
        started([])
    assert command.stop("lo") == "lo is as it was before link rt0"
    with pytest.raises(ConfigError, match="set up nothing there"):
        command.stop("lo")


def test_a_step_that_fails_leaves_nothing(machine: list[str], tmp_path: Path) -> None:
    machine.append("AddKeepon")
    with pytest.raises(EnvironmentProblemError, match=r"^AddKeepon fails; lo is as it was$"):
        started([])
    assert list(journal.journals()) == []


def test_what_was_half_done_is_put_back_first(machine: list[str], tmp_path: Path) -> None:
    (tmp_path / "left").touch()
    half = Journal(
        journal.netns(), 1, "lo", "link rt0", begun=1, boot=journal.boot(), mark="none",
        undo=[[{"do": "remove", "path": str(tmp_path / "left")}], [{"do": "defect"}]],
    )  # fmt: skip
    assert half.state == STARTING
    journal.save(half)
    said: list[str] = []
    started(said)
    assert said[0] == "an earlier keepon start had ended half-way on lo; that was put back first"
    assert not (tmp_path / "left").exists()


def test_vlans_of_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those made after keepon start; its own has ID 0, and may have got another name."""

    def vlan(number: int, name: str, lower: str, id_: int) -> dict[str, Any]:
        info = {"info_kind": "vlan", "info_data": {"id": id_}}
        return {"ifindex": number, "ifname": name, "link": lower, "linkinfo": info}

    there = [
        {"ifindex": 2, "ifname": "eth0"}, vlan(7, "streams", "eth0", 0),
        vlan(9, "office", "eth0", 100), vlan(10, "eth1.0", "eth1", 0),
    ]  # fmt: skip
    deleted = []

    def ip(*words: str) -> str:
        if words[:2] == ("link", "del"):
            deleted.append(words[-1])
        return json.dumps(there)

    monkeypatch.setattr(undo, "ip", ip)
    monkeypatch.setattr(Journal, "name", property(lambda self: "eth0"))
    journal = Journal(1, 2, "eth0", "station x", rest=[1, 2])
    assert list(undo._deleted(journal, "vlan")) == ["streams deleted"]
    assert deleted == ["streams"]


def test_a_status_tells_of_link_frames_and_ptp(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {
        "head_valid": 1, "synchronised": 1, "clock_error_ps": 8500, "verdict_on_time": 7,
        "verdict_best_effort": 5, "verdict_late": 2,
    }  # fmt: skip
    monkeypatch.setattr(
        status.commands, "show",
        lambda *_, as_json: json.dumps([{"ifname": "rt0", "link": "eth0"}]),
    )  # fmt: skip
    monkeypatch.setattr(status.watch, "names_of", lambda name: list(values))
    monkeypatch.setattr(status.watch, "read", lambda *_: status.watch.Reading(0.0, values))
    monkeypatch.setattr(status, "driver_of", lambda name: "keepon_intel")
    monkeypatch.setattr(status, "phc_ahead_ns", lambda name: -420)
    monkeypatch.setattr(Journal, "name", property(lambda self: self.nic))
    kept = [
        Journal(1, 2, "eth0", "station x", state=STARTED, ptp="/run/keepon/x.cfg"),
        Journal(1, 3, "eth1", "link rt1"),
    ]
    monkeypatch.setattr(status, "journals", lambda: kept)
    said = "\tmaster_offset              -12\n\tgmPresent  true\n\tgmIdentity 0011.fffe.22\n"
    monkeypatch.setattr(status, "run", lambda *words: said)
    assert status.text(None).splitlines() == [
        "rt0 on eth0 (keepon_intel): synchronised",
        "  clock   within 8.5 ns, -420 ns from the system's CLOCK_TAI",
        "  frames  12 sent, 2 dropped",
        "  PTP     -12 ns from grandmaster 0011.fffe.22",
        "  set up  station x",
        "eth1: half set up as link rt1; keepon stop puts it back",
    ]
    assert status.document("eth0")["links"][0]["dropped"] == 2
    with pytest.raises(ConfigError, match='"eth9": has no keepon link'):
        status.document("eth9")
