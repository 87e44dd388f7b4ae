# SPDX-License-Identifier: BSD-3-Clause
"""A station's steps are data: they are written to a file and read back, and the exported script has
each of them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from keepon.cli import session
from keepon.errors import EnvironmentProblemError, TraceError
from keepon.export import shell
from keepon.export.commands import script
from keepon.machines.station import Machine, setup
from keepon.model import loading
from keepon_host.doctor import schedulers
from keepon_host.doctor.tree import Tree
from keepon_host.start import needs, steps

EXAMPLES = Path(__file__).parents[2] / "examples"


def machine(example: str) -> Machine:
    scenario = loading.load(EXAMPLES / f"{example}.toml")
    return Machine(scenario, session.planned(scenario), "keepon")


@pytest.mark.slow
@pytest.mark.parametrize("example", ["habitat", "robot-cell", "gptp"])
def test_every_step_is_in_the_script_in_order(example: str) -> None:
    its = machine(example)
    for station in its.scenario.station:
        if station.name not in its.plan["stations"]:
            continue
        rest = script(its, station).partition("\ntrap 'exit 130' INT TERM\n")[2]
        for step in setup(its, station).steps:
            for line in shell.lines(step):
                assert f"{line}\n" in rest
                rest = rest.partition(f"{line}\n")[2]
        assert rest == "finished=1\n"


@pytest.mark.parametrize("example", ["habitat", "robot-cell", "gptp"])
def test_steps_are_read_back_as_written(example: str) -> None:
    its = machine(example)
    for station in its.scenario.station:
        if station.name in its.plan["stations"]:
            found = setup(its, station)
            assert steps.of_document(json.loads(json.dumps(steps.to_document(found)))) == found


LINKED = {"kind": "Linked", "device": "eth0", "rate_mbps": 1000}
VLAN = {"kind": "AddVlan", "lower": "rt0", "device": "rt0.0"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (None, r"key `` = \[\]: must be a table"),
        ({"schema": "keepon.steps/2"}, "key `schema` = keepon.steps/2: must be keepon.steps/1"),
        ({"nic": None}, "key `nic` = null: must be a line of text"),
        ({"title": "a\nb"}, 'key `title` = "a\\\\nb": must be a line of text'),
        ({"steps": {}}, "key `steps` = {}: must be a list"),
        ({"files": {"a": 1}}, 'key `files` = {"a": 1}: must be texts by name'),
        ({"more": 1}, "key `more`: is unknown; known are schema, title, nic"),
        ({"steps": [3]}, r"key `steps\[0\].kind` = 3: must be one of Told, Module"),
        ({"needs": [LINKED]}, r'key `needs\[0\].kind` = "Linked": must be one of Program, Free'),
        (
            {"steps": [LINKED | {"rate_mbps": True}]},
            r"key `steps\[0\].rate_mbps` = true: must be a w",
        ),
        (
            {"steps": [{"kind": "Linked", "rate_mbps": 1}]},
            r"key `steps\[0\].device` is missing; it",
        ),
        (
            {"steps": [{"kind": "AddVlan", "lower": "a", "device": "b", "pairs": [1]}]},
            "list of tex",
        ),
    ],
)
def test_what_is_no_step_is_refused_with_its_key(
    change: dict[str, object] | None, sentence: str
) -> None:
    card = steps.Setup("a card", "eth0", "eth0", (), (steps.Linked("eth0", 1000),))
    document = [] if change is None else steps.to_document(card) | change
    with pytest.raises(TraceError, match=sentence):
        steps.of_document(document)  # type: ignore[arg-type]


def _kernel(root: Path, dep: str | None, builtin: str | None, config: str = "") -> Tree:
    folder = root / "lib/modules/6.1.0-x"
    folder.mkdir(parents=True)
    (root / "proc/sys/kernel").mkdir(parents=True)
    (root / "proc/sys/kernel/osrelease").write_text("6.1.0-x\n")
    for name, text in (("modules.dep", dep), ("modules.builtin", builtin)):
        if text is not None:
            (folder / name).write_text(text)
    if config:
        (folder / "config").write_text(config)
    return Tree(root)


DEP = "kernel/net/sched/sch_etf.ko.xz: kernel/x.ko\nsch_taprio.ko:\n"


@pytest.mark.parametrize(
    ("dep", "builtin", "config", "lacking"),
    [
        (DEP, "kernel/net/sched/sch_mqprio.ko\n", "", []),
        (DEP, "kernel/net/sched/sch_mqprio_lib.ko\n", "", ["mqprio"]),
        (DEP, "", "CONFIG_NET_SCH_MQPRIO=y\n", []),
        (DEP, "", "CONFIG_NET_SCH_MQPRIO=m\n", ["mqprio"]),
        (DEP, None, "", []),  # nobody knows
        (None, None, "CONFIG_NET_SCH_MQPRIO=m\n", ["etf", "taprio"]),
        (None, None, "", []),
    ],
)
def test_queueing_disciplines_that_the_kernel_lacks_are_known_without_loading_them(
    tmp_path: Path, dep: str | None, builtin: str | None, config: str, lacking: list[str]
) -> None:
    tree = _kernel(tmp_path, dep, builtin, config)
    kinds = ("mqprio", "etf", "taprio", "pfifo")
    assert [kind for kind in kinds if schedulers.lacks(tree, kind)] == lacking
    for kind in lacking:
        (tmp_path / "sys/module" / f"sch_{kind}").mkdir(parents=True)
        assert not schedulers.lacks(tree, kind), "it is loaded"


@pytest.mark.parametrize("example", ["habitat", "three-classes"])
def test_a_kernel_without_mqprio_is_refused_before_anything_is_changed(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    its = machine(example)
    station = its.scenario.station_named(its.scenario.stream[0].talker)
    tree = _kernel(tmp_path, "", "")
    monkeypatch.setattr(needs, "Tree", lambda: tree)
    wanted = [need for need in setup(its, station).needs if isinstance(need, steps.Scheduler)]
    with pytest.raises(
        EnvironmentProblemError, match=r"this kernel \(6.1.0-x\) has no queueing disc"
    ):
        needs.check(wanted)
    text = script(its, station)
    for need in wanted:
        assert text.index(f"has no queueing discipline {need.qdisc}") < text.index("tc qdisc")


def test_the_script_looks_for_queueing_disciplines_as_apply_does(tmp_path: Path) -> None:
    """Of the running kernel, whose lists are those below a folder."""
    *_, line = shell.needs([steps.Scheduler("mqprio")], (), ())
    for number, (dep, builtin, is_refused) in enumerate(
        ((DEP, "", True), (DEP, "kernel/net/sched/sch_mqprio.ko\n", False), (DEP, None, False))
    ):
        root = tmp_path / str(number)
        _kernel(root, dep, builtin)
        here = line.replace("/lib/modules/$(uname -r)", f"{root}/lib/modules/6.1.0-x")
        here = here.replace("/sys/module", f"{root}/sys/module")
        done = subprocess.run(
            ["sh", "-ec", f"stop() {{ echo \"$1\"; exit 3; }}\n{here}"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (3 if is_refused else 0, "")
        assert ("has no queueing discipline mqprio" in done.stdout) == is_refused
