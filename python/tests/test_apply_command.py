# SPDX-License-Identifier: BSD-3-Clause
"""`keepon apply` as typed: what it shows, and what it refuses. What it does to interfaces is in
kernel/tests/test_apply.py.
"""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
from keepon.cli import session
from keepon.cli.app import main
from keepon.linux import bind
from keepon.linux.apply import command, steps
from keepon.model import loading

ROOT = Path(__file__).parents[2]
CELL = ROOT / "examples" / "robot-cell.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan, and its scenario beside it."""
    made = tmp_path_factory.mktemp("apply")
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


def test_steps_are_printed_for_a_machine_with_nothing_but_python(folder: Path) -> None:
    done = keepon(
        "apply", folder / "plan.json", "--station", "controller", "--iface", "enp1s0",
        "--dry-run", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    setup = steps.of_document(json.loads(done.stdout))
    assert setup.nic == "enp1s0" and setup.device == "rt0"
    assert "controller-ptp4l.cfg" in setup.files


def test_a_dry_run_shows_every_command(folder: Path) -> None:
    """lo is an interface everywhere; what it lacks is said behind the commands."""
    done = keepon(
        "apply", folder / "plan.json", "--station", "controller", "--iface", "lo", "--dry-run"
    )
    for start in (
        "ethtool -A lo autoneg off rx off tx off", "ethtool --set-eee lo eee off",
        "ip link set dev lo up", "keepon link add lo rt0 mtu 1500 mode phase-locked slot_bytes 180",
        "tc qdisc add dev rt0 root handle 100: mqprio", "ip link add link rt0 name rt0.0 type vlan",
        "ptp4l -H -m -f /run/keepon/controller-ptp4l.cfg", "phc2sys -s rt0 -c CLOCK_REALTIME",
    ):  # fmt: skip
        assert f"\n{start}" in done.stdout, start


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--station", "nobody", "--iface", "lo"], 'option --station = "nobody": is none of the'),
        (["--iface", "lo"], "option --station is missing; name one of camera1, "),
        (["--station", "controller"], "option --iface: is missing"),
        (["--station", "controller", "--iface", "no such"], 'option --iface = "no such": must be'),
        (["--station", "controller", "--iface", "rt0"], "must differ from --iface"),
        (
            ["--station", "controller", "--iface", "eth77"],
            'option --iface = "eth77": is no interface here; there are ',
        ),
        (
            ["--station", "controller", "--iface", "lo", "--rollback", "0"],
            "option --rollback = 0: must be above 0 and at most 3600 seconds",
        ),
        (["--station", "controller", "--iface", "lo", "--json"], "option --json: is for --dry-run"),
        (["--confirm"], "argument PLAN: has no use with option --confirm; leave one of the two"),
        (["--boot", "cell"], "argument PLAN: has no use with option --boot; leave one of"),
        (
            ["--iface", "lo", "--yes", "--rollback", "60"],
            "option --rollback: has no use with option --yes",
        ),
    ],
)
def test_what_is_not_right_is_refused_in_one_sentence(
    folder: Path, words: list[str], sentence: str
) -> None:
    done = keepon("apply", folder / "plan.json", *words)
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_a_scenario_that_is_not_beside_its_plan_must_be_named(folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "plan.json"
    alone.write_text((folder / "plan.json").read_text())
    words = ["apply", alone, "--station", "controller", "--iface", "lo", "--dry-run", "--json"]
    done = keepon(*words)
    assert done.returncode == 2 and "option --scenario: is missing" in done.stderr
    assert keepon(*words, "--scenario", CELL).returncode == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["apply", "--boot", "cell", "--iface", "lo"], "option --iface: has no use with"),
        (["apply", "--boot", "cell", "--confirm"], "option --boot: has no use with"),
        (["apply", "--confirm", "--yes", "--iface", "lo"], "option --yes: has no use with"),
        (["unapply", "lo", "--boot", "cell"], "argument IFACE: has no use with option --boot"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: list[str], sentence: str) -> None:
    done = keepon(*words)
    assert done.returncode == 2
    assert sentence in done.stderr and done.stderr.count("\n") == 1


def test_nothing_to_put_back_or_to_confirm_is_said() -> None:
    for words in (["unapply", "lo"], ["apply", "--confirm", "--iface", "lo"]):
        done = keepon(*words)
        assert done.returncode in (2, 3) and done.stderr.count("\n") == 1
        assert "set up nothing there" in done.stderr or "use sudo" in done.stderr


@pytest.mark.parametrize(
    ("module", "words", "sentence"),
    [
        (command, ["apply", "plan.json", "--station", "controller"], "eth7 is as it was"),
        (command, ["unapply"], "not all may be as it was; say keepon unapply again"),
        (bind, ["bind", "eth7"], "the card is as it was"),
        (bind, ["unbind", "eth7"], "the card is as it was"),
    ],
)
def test_who_interrupts_it_is_told_once_how_things_are(
    module: ModuleType, words: list[str], sentence: str, folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def interrupted(*_: object, **__: object) -> str:
        raise command.InterruptedWhileApplyingError

    monkeypatch.setattr(module, words[0], interrupted)
    monkeypatch.chdir(folder)
    if words[0] == "apply":
        words = [*words, "--iface", "eth7"]
    assert keepon(*words) == (130, "", f"keepon: interrupted; {sentence}\n")
