# SPDX-License-Identifier: BSD-3-Clause
"""`keepon export`: what is refused, what is written, and commands read back by tc and by our own
links' readers.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers import HABITAT, ROBOT_CELL, ROOT, small, small_text
from keepon.cli import app as cli
from keepon.cli import export_command as command
from keepon.cli import session
from keepon.errors import (
    EXIT_INPUT,
    EXIT_MET,
    TraceError,
)
from keepon.export import commands, exported, shell
from keepon.export.exported import Planned
from keepon.machines import ptpconfig
from keepon.machines.queues import queues_of
from keepon.model import loading
from keepon.planner.verify import problems
from keepon_host.link import options
from keepon_host.link.slots import list_text, slots_of_classes
from keepon_host.start import steps

THREE = ROOT / "examples" / "three-stations.toml"
TC_PARSED = (0, 2)
"""tc's exit codes: 1 means it did not understand the words, 2 that the kernel refused what it
understood.
"""


@pytest.fixture(scope="module")
def habitat() -> Planned:
    scenario = loading.load(HABITAT)
    return Planned(scenario, session.planned(scenario))


@pytest.fixture
def plan_file(habitat: Planned, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(habitat.plan))
    return path


def keepon(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["keepon", "export", *map(str, words)])
    return cli.main()


def script_lines(text: str) -> list[list[str]]:
    """Words of each command of a script; comments and continuations are the shell's."""
    return [
        words
        for line in text.replace("\\\n", " ").splitlines()
        if (words := shlex.split(line, comments=True))
    ]


def tc_exit(words: list[str]) -> int:
    """What tc says to a command on `lo`, where no command can do harm: in a namespace of its own,
    or without rights.
    """
    placed = [*words]
    if "$gates" in placed:
        placed[placed.index("$gates") :] = commands.FULL_OFFLOAD.split()
    placed[placed.index("dev") + 1] = "lo"
    apart = ["unshare", "--net"] if os.geteuid() == 0 else []
    return subprocess.run([*apart, *placed], capture_output=True, check=False).returncode


# ---- what is refused ----

REFUSED_PLANS: list[tuple[dict[str, Any], str]] = [
    ({"schema": "keepon.plan/2"}, r'key `schema` = "keepon.plan/2": must be "keepon.plan/1"'),
    ({"status": "infeasible"}, r'key `status` = "infeasible": must be "feasible"'),
    ({"status": "unknown"}, r'key `status` = "unknown"'),
    ({"verified": False}, r"key `verified` = False: must be true; plan again with keepon plan"),
    ({"scenario": "other"}, r'key `scenario` = "other": must be "habitat"; plan again'),
    ({"streams": {}}, r"does not hold for scenario .*streams are not those of the scenario"),
    ({"bridges": 3}, r"key `bridges` = 3: must be a table; plan again"),
]


@pytest.mark.parametrize(("change", "sentence"), REFUSED_PLANS)
def test_plans_that_do_not_hold_are_refused(
    habitat: Planned, change: dict[str, Any], sentence: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    plan.write_text(json.dumps({**habitat.plan, **change}))
    assert (
        keepon(monkeypatch, HABITAT, "--plan", plan, "--format", "commands", "--out", out)
        == EXIT_INPUT
    )
    said = capsys.readouterr().err
    assert re.search(sentence, said) and said.count("\n") == 1
    assert not out.exists()


def test_the_command_of_a_remedy_can_be_pasted(
    habitat: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """Whatever is in the names of the files."""
    plan, source = tmp_path / "my plan;ü.json", tmp_path / "it's mine.toml"
    plan.write_text(json.dumps({**habitat.plan, "scenario": "other"}))
    source.write_text(HABITAT.read_text())
    words = (source, "--plan", plan, "--format", "dot", "--out", tmp_path / "out")
    assert keepon(monkeypatch, *words) == EXIT_INPUT
    said = capsys.readouterr().err.partition("plan again with ")[2]
    assert shlex.split(said) == ["keepon", "plan", str(source), "--out", str(plan)]


@pytest.mark.parametrize(("name", "out"), [("dot", "it.dot"), ("commands", "scripts")])
def test_names_of_files_printed_are_names_of_files_written(
    name: str, out: str, plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    words = (HABITAT, "--plan", plan_file, "--format", name, "--out", out)
    assert keepon(monkeypatch, *words) == EXIT_MET
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"habitat: {name} written to {out}"
    written = {str(path) for path in Path(out).glob("*") if path.name != "export.json"}
    assert {line.strip() for line in others} == written
    assert keepon(monkeypatch, *words, "--force", "--json") == EXIT_MET
    document = json.loads(capsys.readouterr().out)
    folder = tmp_path / out if document["out"] == "scripts" else tmp_path
    assert all((folder / file).is_file() for file in document["files"])


def test_a_picture_of_the_network_needs_no_plan(
    plan_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "it.svg"
    words = (HABITAT, "--format", "svg", "--out", out)
    assert keepon(monkeypatch, *words) == EXIT_MET
    scenario = loading.load(HABITAT)
    names = {node.name for node in (*scenario.station, *scenario.bridge)}
    for more in ((), ("--plan", plan_file, "--force")):
        assert keepon(monkeypatch, *words, *more) == (EXIT_MET if more else EXIT_INPUT)
        text = out.read_text()
        ElementTree.fromstring(text)
        shown = re.findall(r">([^<>]+)</text>", text)
        assert names | {"sends F2..4"} <= set(shown) and "var(" not in text
        # Rates stand at every cable; routes and use are the plan's.
        assert sum(word.startswith("1 Gb/s") for word in shown) == len(scenario.link)
        assert ('id="route-F2"' in text) == ("1 Gb/s, 1.2%" in shown) == bool(more)


def test_a_changed_gate_is_noticed(
    habitat: Planned,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changed = json.loads(json.dumps(habitat.plan))
    entries = changed["bridges"]["br1"]["ports"]["br2"]["entries"]
    next(entry for entry in entries if entry["gates"] == "0x40")["gates"] = "0x00"
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(changed))
    assert (
        keepon(monkeypatch, HABITAT, "--plan", plan, "--format", "yang", "--out", tmp_path / "out")
        == EXIT_INPUT
    )
    assert "does not hold for scenario" in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value"), [("mode", "paper"), ("placeholder", "mac-control")])
def test_a_changed_ring_is_noticed(key: str, value: str) -> None:
    scenario = small()
    changed = json.loads(json.dumps(session.planned(scenario)))
    changed["stations"]["a"][key] = value
    assert f"station a: {key} is not the one asked for" in problems(scenario, changed)


@pytest.mark.parametrize(
    "key", ["ring_slots", "partition_slots", "batch_slots", "depth_slots", "poll_overhead_ns"]
)
def test_what_a_scenario_states_is_not_changed(key: str) -> None:
    scenario = small()
    plan = session.planned(scenario)
    planned: dict[str, Any] = dict(plan["stations"]["a"])
    options = scenario.station_named("a").keepon.model_copy(update={key: planned[key]})
    stations = [
        station.model_copy(update={"keepon": options}) if station.name == "a" else station
        for station in scenario.station
    ]
    stated = scenario.model_copy(update={"station": stations})
    assert problems(stated, plan) == []
    changed = json.loads(json.dumps(plan))
    changed["stations"]["a"][key] += 1
    assert f"station a: {key} is not the one asked for" in problems(stated, changed)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--format", "xml"], r'option --format = "xml": must be one of commands, dot'),
        (
            ["--format", "commands", "--device", "a b"],
            r'option --device = "a b": must be a device name',
        ),
        (["--format", "commands", "--keepon-device", "x" * 16], r"option --keepon-device"),
        (["--format", "commands", "--device", "rt0"], r"must differ from --device"),
        (
            ["--format", "commands", "--device", "rt0.0"],
            r'option --device = "rt0.0": is what the VLAN device on rt0 is called; choose another',
        ),
        (
            ["--format", "commands", "--keepon-device", "abcdefghijklm.0"],
            r'option --keepon-device = "abcdefghijklm.0": is what the VLAN device',
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(
    plan_file: Path, words: list[str], sentence: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    out = tmp_path / "out"
    assert keepon(monkeypatch, HABITAT, "--plan", plan_file, "--out", out, *words) == EXIT_INPUT
    assert re.search(sentence, capsys.readouterr().err)
    assert not out.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yang", "tsntool"])
def test_formats_of_gates_need_gates(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(session.planned(loading.load(THREE))))
    assert (
        keepon(monkeypatch, THREE, "--plan", plan, "--format", name, "--out", tmp_path / "out")
        == EXIT_INPUT
    )
    assert "carries gate lists only" in capsys.readouterr().err


def test_a_plan_that_lacks_what_a_format_needs_is_refused(habitat: Planned, tmp_path: Path) -> None:
    plan = json.loads(json.dumps(habitat.plan))
    del plan["stations"]["power-gateway"]["batch_slots"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(TraceError, match=r"plan.json: key .*batch_slots.* = missing.*; plan again"):
        command.run(HABITAT, tmp_path / "plan.json", "commands", tmp_path / "out")


# ---- what is written, and what is left alone ----


@pytest.mark.slow
def test_json_says_what_was_written(
    plan_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    words = [HABITAT, "--plan", plan_file, "--format", "commands", "--out", out, "--json"]
    assert keepon(monkeypatch, *words) == EXIT_MET
    document = json.loads(capsys.readouterr().out)
    assert document["out"] == str(out) and "br1.sh" in document["files"]


# ---- commands ----


def test_stations_get_the_link_they_were_planned(habitat: Planned) -> None:
    files = commands.export(Planned(habitat.scenario, habitat.plan, "enp1s0", "beat")).files
    for name, station in habitat.plan["stations"].items():
        lines = script_lines(files[f"{name}.sh"])
        added = [line for line in lines if line[:3] == ["ip", "link", "add"]]
        links = [line for line in added if "keepon" in line]
        assert len(links) == (station["driver"] == "keepon")
        for line in links:
            assert line[3:9] == ["link", "enp1s0", "name", "beat", "mtu", "1500"]
            assert line[9:11] == ["type", "keepon"]
            read = options.parse(line[11:])
            numbers = [
                struct.unpack("=I", read[attribute])[0]
                for attribute in (2, 3, 4, 5, options.PARTITION_SLOTS)
            ]
            assert numbers == [
                *(
                    station[key]
                    for key in ("slot_bytes", "ring_slots", "batch_slots", "depth_slots")
                ),
                len(station["allowed"]),
            ]
            classes = slots_of_classes(read[options.ALLOWED], len(station["allowed"]))
            for tc in map(int, station["classes"]):
                slots = [slot for slot, mask in enumerate(station["allowed"]) if mask >> tc & 1]
                assert classes[tc] == list_text(slots, len(station["allowed"]))


def test_launch_time_stations_offload_etf_and_keepon_stations_do_not(habitat: Planned) -> None:
    files = commands.export(habitat).files
    for name, station in habitat.plan["stations"].items():
        talks = bool(station["streams"])
        lines = script_lines(files[f"{name}.sh"])
        disciplines = [line for line in lines if line[:2] == ["tc", "qdisc"] and "del" not in line]
        etf = [line for line in disciplines if "etf" in line]
        has_classes = talks or station["driver"] == "keepon"
        assert sum("mqprio" in line for line in disciplines) == has_classes
        assert bool(etf) == (talks and station["driver"] == "launchtime"), name
        assert all(
            "offload" in line and line[line.index("parent") + 1].startswith("100:") for line in etf
        )
        assert all(line[line.index("dev") + 1] in ("eth0", "rt0") for line in disciplines)


def test_tc_reads_every_command(habitat: Planned) -> None:
    files = commands.export(habitat).files
    chosen = [
        line for name in ("br1.sh", "rt-simulator.sh",
        "power-gateway.sh") for line in script_lines(files[name])
        if line[:3] in (["tc", "qdisc", "add"], ["tc", "qdisc", "replace"])
    ]  # fmt: skip
    assert {kind for line in chosen for kind in ("taprio", "mqprio", "etf") if kind in line} == {
        "taprio", "mqprio", "etf",
    }  # fmt: skip
    for line in chosen:
        assert tc_exit(line) in TC_PARSED, line


def tc_version() -> tuple[int, ...]:
    said = subprocess.run(["tc", "-V"], capture_output=True, text=True, check=True).stdout
    (found,) = re.findall(r"iproute2-(\d+)\.(\d+)", said)
    return tuple(map(int, found))


@pytest.mark.parametrize("gates", ["auto", "none"])
def test_tc_reads_frame_preemption_or_is_too_old(gates: str) -> None:
    """`fp` is there from 6.4 on, H and R from 6.13 on."""
    text = (ROOT / "examples" / "tsn" / "preemption.toml").read_text(encoding="utf-8")
    scenario = loading.parse(text.replace('gates = "none"', f'gates = "{gates}"'), "preemption")
    script = commands.export(Planned(scenario, session.planned(scenario))).files["sw.sh"]
    (line,) = [line for line in script_lines(script) if line[:3] == ["tc", "qdisc", "replace"]]
    needed = (6, 13) if gates == "auto" else (6, 4)
    assert (tc_exit(line) in TC_PARSED) == (tc_version() >= needed)
    for right, wrong in (("P", "Q"), ("H", "Q")) if gates == "auto" else (("P", "Q"),):
        assert tc_exit([wrong if word == right else word for word in line]) not in TC_PARSED


@pytest.mark.parametrize(
    ("kind", "wrong", "instead"),
    [
        ("taprio", "num_tc", "tcs"),
        ("taprio", "S", "T"),
        ("mqprio", "num_tc", "tcs"),
        ("etf", "offload", "upload"),
    ],
)
def test_tc_would_say_so_if_a_word_were_wrong(
    habitat: Planned, kind: str, wrong: str, instead: str
) -> None:
    texts = commands.export(habitat).files.values()
    line = next(
        line for text in texts for line in script_lines(text) if kind in line and wrong in line
    )
    assert tc_exit([instead if word == wrong else word for word in line]) not in TC_PARSED


def test_gates_are_those_of_the_plan(habitat: Planned) -> None:
    files = commands.export(habitat).files
    seen = 0
    for name, entry in habitat.plan["bridges"].items():
        comments = re.findall(r"^# towards (\S+):", files[f"{name}.sh"], re.MULTILINE)
        assert "gates=${GATES:-flags 0x2}\n" in files[f"{name}.sh"]
        lines = [line for line in script_lines(files[f"{name}.sh"]) if "taprio" in line]
        for peer, line in zip(comments, lines, strict=True):
            port = entry["ports"][peer]
            marks = [at for at, word in enumerate(line) if word == "sched-entry"]
            entries = [(line[at + 1], int(line[at + 2], 16), int(line[at + 3])) for at in marks]
            assert entries == [
                ("S", int(gate["gates"], 16), gate["ns"]) for gate in port["entries"]
            ]
            assert int(line[line.index("base-time") + 1]) == port["base_ns"]
            assert (
                int(line[line.index("cycle-time") + 1])
                == port["cycle_ns"]
                == sum(ns for _, _, ns in entries)
            )
            levels = line[line.index("map") + 1 : line.index("queues")]
            assert [levels[queue] for queue in port["queues"].values()] == [
                str(q) for q in port["queues"].values()
            ]
            assert line[line.index("$gates") + 1] == "||"
            seen += 1
    assert seen == sum(
        "entries" in port
        for entry in habitat.plan["bridges"].values()
        for port in entry["ports"].values()
    )


def test_port_numbers_follow_the_links_of_the_scenario(habitat: Planned) -> None:
    for port in exported.gated_ports(habitat):
        links = [set(link.ends) for link in habitat.scenario.link if port.bridge in link.ends]
        assert links[int(port.name.removeprefix("swp"))] == {port.bridge, port.peer}


def test_entries_too_short_for_taprio_are_named(habitat: Planned) -> None:
    notes = commands.export(habitat).notes
    assert any(
        "port swp0 towards br2: its shortest gate entry of 64 ns is below the 480 ns" in note
        for note in notes
    )
    assert not any("br4" in note for note in notes)


SLOW = """
schema = "keepon.scenario/1"
name = "slow"
duration_s = 6.0
seed = 1
sync = { mode = "ideal" }
bridge = [{ name = "sw" }]
station = [{ name = "a", driver = "launchtime" }, { name = "b", driver = "launchtime" }]
link = [{ ends = ["a", "sw"] }, { ends = ["b", "sw"] }]
[[stream]]
id = "S"
talker = "a"
listeners = ["b"]
frame_bytes = 200
"""


@pytest.mark.parametrize("period_s", [2, 3])
def test_a_cycle_too_long_for_taprio_is_named(tmp_path: Path, period_s: int) -> None:
    path = tmp_path / "slow.toml"
    path.write_text(f"{SLOW}period_ns = {period_s}_000_000_000\n")
    scenario = loading.load(path)
    made = commands.export(Planned(scenario, session.planned(scenario)))
    sentence = (
        "bridge sw, port swp1 towards b: its cycle of 3000000000 ns is beyond the 2147483647 ns"
        " that Linux's taprio takes"
    )
    assert any(note.startswith(sentence) for note in made.notes) == (period_s == 3)
    assert (f'stop "{sentence}' in made.files["sw.sh"]) == (period_s == 3)


def test_a_message_of_tc_holds_so_many_entries_and_no_more() -> None:
    for count in (commands.TC_ENTRIES_MAX, commands.TC_ENTRIES_MAX + 1):
        entries = tuple((1 + number % 2, 10_000) for number in range(count))
        changed = exported.Port("br1", "a", "swp0", 10**9, 0, entries)
        (line,) = [
            line for line in script_lines("\n".join(commands.taprio(changed))) if "taprio" in line
        ]
        line[line.index("$gates") :] = commands.FULL_OFFLOAD.split()
        line[line.index("dev") + 1] = "lo"
        apart = ["unshare", "--net"] if os.geteuid() == 0 else []
        done = subprocess.run([*apart, *line], capture_output=True, text=True, check=False)
        assert ("exceeded" in done.stderr) == (count > commands.TC_ENTRIES_MAX), done.stderr
    notes = commands.export(ROBOTS).notes
    bridges = {note.split(",")[0] for note in notes if "a message of tc holds no more" in note}
    assert bridges == {"bridge sw-cell", "bridge sw-drives", "bridge sw-robots"}
    assert 'stop "bridge sw-cell, port swp0' in commands.export(ROBOTS).files["sw-cell.sh"]


def test_roots_are_looked_at_first_and_go_before_others_are_set(habitat: Planned) -> None:
    """Linux would take the classes of both."""
    for text in commands.export(habitat).files.values():
        lines = text.splitlines()
        set_here = {
            at: line.split()[4]
            for at, line in enumerate(lines)
            if re.match(r"tc qdisc \S+ dev \S+ .*root .*\w", line) and " del " not in line
        }
        for at, device in set_here.items():
            assert lines[at - 1].startswith(f"tc qdisc del dev {device} root ")
        looked_at = [line.split()[1] for line in lines if re.match(r"own_root \w", line)]
        assert looked_at == [device for device in set_here.values() if device != "rt0"]
        if looked_at:
            changes = min(text.index(word) for word in ("\nswitch_off ", "\nlinked "))
            assert text.rindex("\nown_root ") < changes


LOAD = """
[[load]]
id = "L"
talker = "a"
listener = "b"
rate_bps = 1_000_000
frame_bytes = 400
"""


@pytest.mark.parametrize("driver", ["standard", "launchtime"])
def test_mqprio_of_one_queue_needs_a_device_of_two(tmp_path: Path, driver: str) -> None:
    """Linux refuses it otherwise, after the script has changed the card."""
    path = tmp_path / "load.toml"
    text = SLOW.replace('talker = "a"\nlisteners = ["b"]', 'talker = "b"\nlisteners = ["a"]')
    text = text.replace('name = "a", driver = "launchtime"', f'name = "a", driver = "{driver}"')
    path.write_text(f"{text}period_ns = 2_000_000_000\n{LOAD}")
    scenario = loading.load(path)
    script = commands.export(Planned(scenario, session.planned(scenario))).files["a.sh"]
    assert " mqprio num_tc 1 map" in script
    needed = script.index("[ $# -ge 2 ] || stop")
    assert needed < script.index("\nswitch_off ")
    line = script[needed:].partition("\n")[0]
    assert "eth0 has $# transmit queues and the plan needs 2: " in line
    assert "have more by ethtool -L eth0 combined 2 (or tx 2), or of a veth by numtxqueues" in line


def test_launch_times_have_room_in_their_queue_behind_the_first_frame(habitat: Planned) -> None:
    made = commands.export(habitat)
    files = made.files
    (note,) = [text for text in made.notes if "send one frame of each class alone" in text]
    names = [entry.name for entry in habitat.scenario.station if entry.driver == "launchtime"]
    assert note.startswith(f"{', '.join(names)}: ")
    assert not any("send one frame" in text for text in commands.export(ROBOTS).notes)
    limits = "/sys/class/net/eth0/queues/tx-0/byte_queue_limits/limit_min"
    assert f"echo {4 * 2 * 200} > {limits}\n" in files["rt-simulator.sh"]
    assert "byte_queue_limits" not in files["power-gateway.sh"]


def robot_cell() -> Planned:
    scenario = loading.load(ROBOT_CELL)
    return Planned(scenario, session.planned(scenario))


ROBOTS = robot_cell()
GPTP = loading.load(ROOT / "examples" / "gptp.toml")


def test_a_list_parted_by_the_end_of_its_cycle_begins_behind_its_first_entry() -> None:
    ends = ((0xBF, 100), (0x40, 5000), (0xBF, 994_900))
    port = exported.Port("br1", "a", "swp0", 1_000_000_000, 7, ends)
    assert commands.joined(port) == (107, [(0x40, 5000), (0xBF, 995_000)])
    long = ((0xBF, 600), (0x40, 5000), (0xBF, 994_400))
    port = exported.Port("br1", "a", "swp0", 1_000_000_000, 7, long)
    assert commands.joined(port) == (7, list(long))


def test_best_effort_and_ptp_have_queues_apart_from_streams() -> None:
    files = commands.export(ROBOTS).files
    for name, station in ROBOTS.plan["stations"].items():
        if station["driver"] != "keepon":
            continue
        (line,) = [line for line in script_lines(files[f"{name}.sh"]) if "mqprio" in line]
        assert line[line.index("num_tc") + 1] == "8"
        chosen = list(map(int, line[line.index("map") + 1 : line.index("queues")]))
        # what a program gets that asks for nothing, or for a type of service
        assert [chosen[level] for level in (0, 1, 2, 4, 6)] == [7] * 5
        priorities = re.findall(r"SO_PRIORITY (\d+), PCP (\d)", files[f"{name}.sh"])
        streams = [stream for stream in ROBOTS.scenario.stream if stream.talker == name]
        assert len(priorities) == len(streams)
        for stream, (level, pcp) in zip(streams, priorities, strict=True):
            assert (chosen[int(level)], int(pcp)) == (stream.tc, stream.priority)
            assert int(level) > 6, "any program may have a priority of 6 or less"


def test_ptp_has_its_class_where_best_effort_has_another() -> None:
    text = ROBOT_CELL.read_text().replace("tc = 7\n\n# Classes", "tc = 3\n\n# Classes")
    text = text.replace(
        '{ tc = 7, slots = "rest"', '{ tc = 3, slots = [40] }, { tc = 7, slots = "rest"'
    )
    scenario = loading.parse(text, "cell.toml")
    station = scenario.station_named("controller")
    queues = queues_of(scenario, station, "keepon")
    assert queues.best_effort == 7 and queues.ptp_priority is not None
    assert queues.map[queues.ptp_priority] == 3
    assert queues.ptp_priority not in queues.priority.values()
    config = ptpconfig.config(scenario, "controller", ["rt0"], queues.ptp_priority, station)
    assert f"socket_priority {queues.ptp_priority}\n" in config


def test_small_slots_are_noted() -> None:
    """Where slots of the class of all else carry full frames there is nothing to tell."""
    for wide in (ROBOTS, parse_with_slots(230, room="")):
        assert not any("own frames" in note for note in commands.export(wide).notes)
    exported = commands.export(parse_with_slots(230))
    note = next(note for note in exported.notes if "own frames" in note)
    assert ": a 200;" in note
    assert "eth0's own frames up to MTU 200; longer ones are dropped" in exported.files["a.sh"]


ONE_SLOT = ", frame_bytes_max = 0"


def parse_with_slots(slot_bytes: int, frame_bytes: int = 200, room: str = ONE_SLOT) -> Planned:
    text = small_text(
        **{
            'driver = "under-test"': 'driver = "keepon"',
            "[compare]": "",
            'drivers = ["keepon", "standard"]': "",
            "frame_bytes = 200": f"frame_bytes = {frame_bytes}\ntc = 0",
            "period_ns = 1_000_000": "period_ns = 10_640_000",
        }
    )
    text = text.replace(
        'driver = "keepon"', f'driver = "keepon"\nkeepon = {{ slot_bytes = {slot_bytes}{room} }}'
    )
    scenario = loading.parse(text, "small.toml")
    return Planned(scenario, session.planned(scenario))


def test_tags_are_made_of_the_priorities_of_streams() -> None:
    files = commands.export(ROBOTS).files
    (line,) = [line for line in script_lines(files["controller.sh"]) if "vlan" in line]
    assert line[:9] == ["ip", "link", "add", "link", "rt0", "name", "rt0.0", "type", "vlan"]
    pairs = dict(pair.split(":") for pair in line[line.index("egress-qos-map") + 1 :])
    assert sorted(pairs.values()) == ["4", "6"] and "vlan" not in files["recorder.sh"]


def test_clocks_are_set_as_the_plan_has_it(habitat: Planned) -> None:
    files = commands.export(ROBOTS).files
    lead, follow = files["sw-cell-ptp4l.cfg"], files["drive1-ptp4l.cfg"]
    assert "priority1 100\n" in lead and "gmCapable 1\n" in lead
    assert re.findall(r"^\[(swp\d)\]$", lead, re.MULTILINE) == [f"swp{n}" for n in range(5)]
    assert "gmCapable 0\n" in follow and "[eth0]\ningressLatency 9000\n" in follow
    assert "logSyncInterval -3\n" in follow and "delay_mechanism P2P\n" in follow
    assert 'ptp4l -H -m -f "$here/drive1-ptp4l.cfg"' in files["drive1.sh"]
    assert "phc2sys -s rt0 -c CLOCK_REALTIME" in files["drive1.sh"]
    ideal = commands.export(habitat)
    assert not any(name.endswith(".cfg") for name in ideal.files)
    assert any('sync.mode = "ideal"' in note for note in ideal.notes)
    assert "phc2sys -s eth0 -c CLOCK_REALTIME" in ideal.files["power-load.sh"]


def test_the_kernel_is_asked_for_a_clock_and_not_the_words_of_ethtool(habitat: Planned) -> None:
    """Its words differ by version and kernel. A card that has a clock is in the guests' tests."""
    script = commands.export(habitat).files["power-load.sh"]
    assert "ethtool -T" not in script
    assert script.index("command -v phc_ctl") < script.index("phc_ctl -qQ eth0 get")
    chosen = "\n".join([*shell.lines(steps.ChooseStamps("lo")), "echo $stamps"])
    done = subprocess.run(["sh", "-euc", chosen], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("-S\n", "")


def test_ptp_through_plain_bridges_is_configured_end_to_end() -> None:
    text = (ROOT / "examples" / "gptp.toml").read_text()
    text = text.replace(
        'mode = "gptp"\ngrandmaster = "br1"', 'mode = "ptp"\ngrandmaster = "talker"'
    )
    scenario = loading.parse(text, "ptp.toml")
    config = ptpconfig.config(
        scenario, "listener", ["rt0"], None, scenario.station_named("listener")
    )
    assert "delay_mechanism E2E\n" in config and "slaveOnly 1\n" in config
    assert "gmCapable" not in config and "transportSpecific" not in config


@pytest.mark.parametrize(("asymmetry_ns", "threshold_ns"), [(0, 250_000), (-20_000, 270_000)])
def test_a_long_cable_does_not_make_its_neighbour_incapable_of_gptp(
    asymmetry_ns: int, threshold_ns: int
) -> None:
    """30 km of fibre are above the 100 us that software's stamps vary by: never synchronised."""
    text = (ROOT / "examples" / "gptp.toml").read_text()
    ends = 'ends = ["talker", "br1"]\n'
    assert ends in text
    long = f"{ends}propagation_ns = 150_000\nasymmetry_ns = {asymmetry_ns}\n"
    scenario = loading.parse(text.replace(ends, long), "long.toml")
    for name, least_ns in (("talker", threshold_ns), ("listener", 100_050)):
        config = ptpconfig.config(scenario, name, ["rt0"], None, scenario.station_named(name))
        assert f"\nneighborPropDelayThresh {least_ns}\n" in config


def test_padded_messages_are_noted() -> None:
    planned = Planned(GPTP, session.planned(GPTP))
    assert any("linuxptp drops" in note for note in commands.export(planned).notes)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["habitat", "robot-cell", "gptp"])
def test_scripts_are_posix_shell(name: str) -> None:
    scenario = loading.load(ROOT / "examples" / f"{name}.toml")
    for file, text in commands.export(Planned(scenario, session.planned(scenario))).files.items():
        if file.endswith(".sh"):
            done = subprocess.run(
                ["sh", "-n"], input=text, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, (file, done.stderr)


def test_long_entries_are_several_for_fields_of_32_bits() -> None:
    compare = '[compare]\ndrivers = ["keepon", "standard"]\n'
    cards = {'driver = "under-test"': 'driver = "launchtime"', compare: ""}
    scenario = small(**cards, **{"1_000_000": "5_000_000_000"})
    planned = Planned(scenario, session.planned(scenario))
    (port,) = (port for port in exported.gated_ports(planned) if port.peer == "b")
    gates = planned.plan["bridges"]["br1"]["ports"]["b"]["entries"]
    assert (
        max(ns for _, ns in port.entries)
        <= exported.UINT32_MAX
        < max(entry["ns"] for entry in gates)
    )
    assert port.cycle_ns == sum(entry["ns"] for entry in gates)
    assert len(port.entries) == len(gates) + 1


@pytest.mark.parametrize(("ring_slots", "noted"), [(512, True), (256, False)])
def test_a_ring_longer_than_the_card_of_a_raspberry_pi_is_noted(
    ring_slots: int, noted: bool
) -> None:
    text = THREE.read_text(encoding="utf-8")
    text = text.replace("batch_slots = 8", f"batch_slots = 8\nring_slots = {ring_slots}", 1)
    scenario = loading.parse(text, "three.toml")
    notes = commands.export(Planned(scenario, session.planned(scenario))).notes
    found = [note for note in notes if "refuses longer rings" in note]
    assert bool(found) == noted
    assert not noted or "left 512" in found[0]
