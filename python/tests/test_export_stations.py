# SPDX-License-Identifier: BSD-3-Clause
"""Commands of stations: links, queues and classes as planned, read back by our readers."""

from __future__ import annotations

import re
import struct

import pytest
from export_scripts import SLOW, script_lines
from helpers import ROBOT_CELL, ROOT, planned_example, small_text, with_plan
from keepon.export import commands
from keepon.export.exported import Planned
from keepon.machines import ptpconfig
from keepon.machines.queues import queues_of
from keepon.model import loading
from keepon_host.link import options
from keepon_host.link.slots import list_text, slots_of_classes


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


LOAD = """
[[load]]
id = "L"
talker = "a"
listener = "b"
rate_bps = 1_000_000
frame_bytes = 400
"""


@pytest.mark.parametrize("driver", ["standard", "launchtime"])
def test_mqprio_of_one_queue_needs_a_device_of_two(driver: str) -> None:
    """Linux refuses it otherwise, after the script has changed the card."""
    text = SLOW.replace('talker = "a"\nlisteners = ["b"]', 'talker = "b"\nlisteners = ["a"]')
    text = text.replace('name = "a", driver = "launchtime"', f'name = "a", driver = "{driver}"')
    made = with_plan(f"{text}period_ns = 2_000_000_000\n{LOAD}")
    script = commands.export(made).files["a.sh"]
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
    robots = commands.export(planned_example("robot-cell"))
    assert not any("send one frame" in text for text in robots.notes)
    limits = "/sys/class/net/eth0/queues/tx-0/byte_queue_limits/limit_min"
    assert f"echo {4 * 2 * 200} > {limits}\n" in files["rt-simulator.sh"]
    assert "byte_queue_limits" not in files["power-gateway.sh"]


def test_best_effort_and_ptp_have_queues_apart_from_streams() -> None:
    robots = planned_example("robot-cell")
    files = commands.export(robots).files
    for name, station in robots.plan["stations"].items():
        if station["driver"] != "keepon":
            continue
        (line,) = [line for line in script_lines(files[f"{name}.sh"]) if "mqprio" in line]
        assert line[line.index("num_tc") + 1] == "8"
        chosen = list(map(int, line[line.index("map") + 1 : line.index("queues")]))
        # what a program gets that asks for nothing, or for a type of service
        assert [chosen[level] for level in (0, 1, 2, 4, 6)] == [7] * 5
        priorities = re.findall(r"SO_PRIORITY (\d+), PCP (\d)", files[f"{name}.sh"])
        streams = [stream for stream in robots.scenario.stream if stream.talker == name]
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
    return with_plan(text)


def test_small_slots_are_noted() -> None:
    """Where slots of the class of all else carry full frames there is nothing to tell."""
    for wide in (planned_example("robot-cell"), parse_with_slots(230, room="")):
        assert not any("own frames" in note for note in commands.export(wide).notes)
    made = commands.export(parse_with_slots(230))
    note = next(note for note in made.notes if "own frames" in note)
    assert ": a 200;" in note
    assert "eth0's own frames up to MTU 200; longer ones are dropped" in made.files["a.sh"]


def test_tags_are_made_of_the_priorities_of_streams() -> None:
    files = commands.export(planned_example("robot-cell")).files
    (line,) = [line for line in script_lines(files["controller.sh"]) if "vlan" in line]
    assert line[:9] == ["ip", "link", "add", "link", "rt0", "name", "rt0.0", "type", "vlan"]
    pairs = dict(pair.split(":") for pair in line[line.index("egress-qos-map") + 1 :])
    assert sorted(pairs.values()) == ["4", "6"] and "vlan" not in files["recorder.sh"]


@pytest.mark.parametrize(("ring_slots", "noted"), [(512, True), (256, False)])
def test_a_ring_longer_than_the_card_of_a_raspberry_pi_is_noted(
    ring_slots: int, noted: bool
) -> None:
    text = (ROOT / "examples" / "three-stations.toml").read_text(encoding="utf-8")
    text = text.replace("batch_slots = 8", f"batch_slots = 8\nring_slots = {ring_slots}", 1)
    notes = commands.export(with_plan(text)).notes
    found = [note for note in notes if "refuses longer rings" in note]
    assert bool(found) == noted
    assert not noted or "left 512" in found[0]
