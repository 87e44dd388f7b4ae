# SPDX-License-Identifier: BSD-3-Clause
"""Commands of bridges: gates as the plan has them, in what tc and taprio take."""

from __future__ import annotations

import re
import subprocess

import pytest
from export_scripts import SLOW, script_lines, tc_parses, tc_says
from helpers import ROOT, planned_example, small, with_plan
from keepon.export import commands, exported
from keepon.export.exported import Planned


def tc_version() -> tuple[int, ...]:
    said = subprocess.run(["tc", "-V"], capture_output=True, text=True, check=True).stdout
    (found,) = re.findall(r"iproute2-(\d+)\.(\d+)", said)
    return tuple(map(int, found))


@pytest.mark.parametrize("gates", ["auto", "none"])
def test_tc_reads_frame_preemption_or_is_too_old(gates: str) -> None:
    """`fp` is there from 6.4 on, H and R from 6.13 on."""
    text = (ROOT / "examples" / "tsn" / "preemption.toml").read_text(encoding="utf-8")
    made = with_plan(text.replace('gates = "none"', f'gates = "{gates}"'))
    script = commands.export(made).files["sw.sh"]
    (line,) = [line for line in script_lines(script) if line[:3] == ["tc", "qdisc", "replace"]]
    needed = (6, 13) if gates == "auto" else (6, 4)
    wrong = [["Q" if word == right else word for word in line] for right in "PH" if right in line]
    assert len(wrong) == (2 if gates == "auto" else 1)
    assert tc_parses(line, *wrong) == [tc_version() >= needed, *[False] * len(wrong)]


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


@pytest.mark.parametrize("period_s", [2, 3])
def test_a_cycle_too_long_for_taprio_is_named(period_s: int) -> None:
    made = commands.export(with_plan(f"{SLOW}period_ns = {period_s}_000_000_000\n"))
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
        ((_, said),) = tc_says(line)
        assert ("exceeded" in said) == (count > commands.TC_ENTRIES_MAX), said
    made = commands.export(planned_example("robot-cell"))
    named = {note.split(",")[0] for note in made.notes if "a message of tc holds no more" in note}
    assert named == {"bridge sw-cell", "bridge sw-drives", "bridge sw-robots"}
    assert 'stop "bridge sw-cell, port swp0' in made.files["sw-cell.sh"]


def test_a_list_parted_by_the_end_of_its_cycle_begins_behind_its_first_entry() -> None:
    ends = ((0xBF, 100), (0x40, 5000), (0xBF, 994_900))
    port = exported.Port("br1", "a", "swp0", 1_000_000_000, 7, ends)
    assert commands.joined(port) == (107, [(0x40, 5000), (0xBF, 995_000)])
    long = ((0xBF, 600), (0x40, 5000), (0xBF, 994_400))
    port = exported.Port("br1", "a", "swp0", 1_000_000_000, 7, long)
    assert commands.joined(port) == (7, list(long))


def test_long_entries_are_several_for_fields_of_32_bits() -> None:
    compare = '[compare]\ndrivers = ["keepon", "standard"]\n'
    cards = {'driver = "under-test"': 'driver = "launchtime"', compare: ""}
    made = with_plan(small(**cards, **{"1_000_000": "5_000_000_000"}))
    (port,) = (port for port in exported.gated_ports(made) if port.peer == "b")
    gates = made.plan["bridges"]["br1"]["ports"]["b"]["entries"]
    assert (
        max(ns for _, ns in port.entries)
        <= exported.UINT32_MAX
        < max(entry["ns"] for entry in gates)
    )
    assert port.cycle_ns == sum(entry["ns"] for entry in gates)
    assert len(port.entries) == len(gates) + 1
