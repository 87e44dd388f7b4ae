# SPDX-License-Identifier: BSD-3-Clause
"""Frame preemption: waits of express frames, what HOLD leaves to best effort, lost fragments, plans
and their check. sim/tests/test_egress_port.cpp has the fragments byte by byte.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from helpers import ROOT, with_plan
from keepon._sim import BridgeSpec, Simulation, StationSpec
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands, tsntool, yang
from keepon.export.exported import Port
from keepon.measure.statistics import IntArray
from keepon.model import loading, preemption
from keepon.model.scenario import Scenario
from keepon.planner.checker import interruptions
from keepon.planner.verify import problems
from keepon.report import screen
from keepon.targets.sim.runner import simulate_build

EXAMPLE = (ROOT / "examples" / "tsn" / "preemption.toml").read_text(encoding="utf-8")
GATED = ('gates = "none"', 'gates = "auto"')
PREEMPTABLE = "preemptable = [0, 1, 2, 3]"
BYTE_NS = 80  # at 100 Mb/s


def changed(*pairs: tuple[str, str]) -> Scenario:
    text = EXAMPLE
    for before, after in pairs:
        assert before in text
        text = text.replace(before, after)
    return loading.parse(text, "preemption.toml")


def network(queues: int, queue_frames: int = 64, loss: float = 0.0) -> tuple[Simulation, list[int]]:
    """Stations "a" and "b" send to "z" over a bridge, whose link to it has 100 Mb/s."""
    sim = Simulation(1, 0)
    spec = StationSpec(driver="standard", host={}, cpu={}, nic={"frame_bytes_max": 9_000})
    stations = [sim.add_station(name, spec) for name in "abz"]
    bridge = sim.add_bridge("br", BridgeSpec(queue_frames=queue_frames))
    for node in stations:
        sim.add_link(node, bridge, 100_000_000 if node == stations[2] else 1_000_000_000, 0)
    sim.set_loss(bridge, stations[2], loss)
    if queues:
        sim.set_preemption(bridge, stations[2], queues)
    return sim, [*stations, bridge]


def waits_ns(
    frame_bytes: int, load_bytes: int, queues: int, queue: int = 7, **more: Any
) -> IntArray:
    """How long frames of `queue` wait for the wire beside best effort of queue 0 with no pause."""
    sim, (a, b, z, bridge) = network(queues, more.pop("queue_frames", 64))
    sim.add_load(
        {
            "id": "be", "talker": b, "listener": z, "route": [bridge], "frame_bytes": load_bytes,
            "rate_bps": 105_000_000, "queue": 0, **more,
        }
    )  # fmt: skip
    period_ns = 2 * max(100_000, load_bytes * BYTE_NS) + 1_117
    stream = sim.add_stream(
        {
            "id": "s", "talker": a, "listeners": [z], "routes": [[bridge]], "period_ns": period_ns,
            "frame_bytes": frame_bytes, "queue": queue,
        }
    )  # fmt: skip
    sim.run(10_000_000 + 4_000 * period_ns)
    frames = sim.frames(stream)
    sent_ps, arrived_ps = frames["wire_ps"][10:-10], frames["arrival_ps"][0][10:-10]
    # From SFD to SFD: the frame on the fast link, 2 us in the bridge, a preamble.
    own_ps = frame_bytes * 8_000 + 2_000_000 + 8 * BYTE_NS * 1_000
    return (arrived_ps - sent_ps - own_ps)[arrived_ps > 0] // 1_000


@pytest.mark.parametrize(
    ("load_bytes", "queues", "most_bytes"),
    [
        # The paper's 720 us are 9000 bytes; preamble and gap are on the wire too.
        (9_000, 0x00, 8 + 9_000 + 12),
        # Its 64 bytes, 5.12 us: 60 and the mCRC.
        (1_000, 0x01, 8 + 64 + 12),
        # Of 123 bytes neither of two fragments would be long enough.
        (123, 0x01, 8 + 123 + 12),
    ],
)
def test_an_express_frame_waits_143_bytes_and_not_720_us(
    load_bytes: int, queues: int, most_bytes: int
) -> None:
    waits = waits_ns(200, load_bytes, queues)
    most_ns = most_bytes * BYTE_NS
    assert most_ns - 100 <= waits.max() <= most_ns and waits.min() >= 0


def test_means_are_those_of_the_showcase_of_inet() -> None:
    """INET 4.6, showcases/tsn/framepreemption: 0.36, 0.15 and 0.1 ms from the queue to the last bit
    for frames of 1243 bytes, 100.1 us on the wire, in queues of 4. Ours is full with FIFO: 3.7
    frames in front, not 2.6. Half a frame is in front of an express one, and 20 bytes if it
    interrupts that.
    """
    frame_ns = (8 + 1_243) * BYTE_NS
    means_us = [
        float((waits_ns(1_243, 1_243, queues, queue, queue_frames=4).mean() + frame_ns) / 1_000)
        for queue, queues in ((0, 0), (7, 0), (7, 1))
    ]
    assert means_us == pytest.approx([472, 150, 101.7], abs=1)


def test_a_frame_is_lost_once_if_any_of_its_fragments_is() -> None:
    """Frames of 1500 bytes, 121.6 us, begin each 200 us; 60 us later comes an express one. 30 % of
    all fragments are lost: 49 % of the frames arrive in two, 70 % of the others in one.
    """
    sim, (a, b, z, bridge) = network(1, loss=0.3)
    flows = []
    for name, talker, frame_bytes, queue, offset_ns in (
        ("be", b, 1_500, 0, 0), ("ex", a, 64, 7, 72_000),
    ):  # fmt: skip
        flows.append(
            sim.add_stream(
                {
                    "id": name,
                    "talker": talker,
                    "listeners": [z],
                    "routes": [[bridge]],
                    "period_ns": 200_000,
                    "offset_ns": offset_ns,
                    "frame_bytes": frame_bytes,
                    "queue": queue,
                }
            )
        )
    sim.run(10_000_000 + 4_000 * 200_000)
    (port,) = (port for peer, port in sim.bridge(bridge)["ports"].items() if peer == z)
    assert port["preemptions"] == 4_000
    for flow, share in zip(flows, (0.49, 0.7), strict=True):
        counts = sim.stream(flow)
        (lost,) = counts["lost"].values()
        assert counts["delivered"] + lost + counts["in_flight"] == counts["on_wire"] > 4_000
        assert counts["delivered"] / counts["on_wire"] == pytest.approx(share, abs=0.03)


def test_hold_leaves_best_effort_all_but_143_bytes_before_a_window() -> None:
    """A cycle is 12500 byte times, of which the window has 250. Without preemption one frame of
    9000 fits what is left. With it all but the 143 bytes of HOLD are used: frames take 9020 each,
    and 8 are the preamble of the rest behind the window: (12107 - 8) / 9020 = 1.341 frames.
    """
    busy = ('rate_bps = "60 Mb/s"', 'rate_bps = "99 Mb/s"')
    short = ("duration_s = 1.0\nwarmup_s = 0.2", "duration_s = 0.3\nwarmup_s = 0.1")
    ports = []
    for more in ([], [(PREEMPTABLE, "")]):
        scenario = changed(GATED, busy, short, *more)
        plan = session.planned(scenario)
        assert problems(scenario, plan) == []
        _, run = simulate_build(scenario, plan, "keepon", 1)
        delay_ns = run.document["streams"]["set"]["delay_ns"]
        assert delay_ns["min"] == delay_ns["max"] == 21_181
        ports.append(run.document["bridges"]["sw"]["ports"]["drive"])
    preempted, whole = ports
    cycles = preempted["preemptions"]
    more_frames = preempted["forwarded"] - whole["forwarded"]
    assert cycles >= 400 and more_frames / cycles == pytest.approx(0.341, abs=0.005)


def test_the_planner_counts_what_cannot_be_interrupted() -> None:
    """At a port without gates: 143 bytes at 100 Mb/s, 11.44 us, and 335 with fragments of 256."""
    for fragment, blocked_bytes in ((64, 143), (128, 207), (192, 271), (256, 335)):
        scenario = changed((PREEMPTABLE, f"{PREEMPTABLE}\nmin_fragment_bytes = {fragment}"))
        plan = session.planned(scenario)
        assert plan["streams"]["set"]["terms"]["blocked_ps"] == blocked_bytes * BYTE_NS * 1_000
        assert problems(scenario, plan) == []
    whole = changed((PREEMPTABLE, ""), ("deadline_ns = 100_000", "deadline_ns = 800_000"))
    terms = session.planned(whole)["streams"]["set"]["terms"]
    assert terms["blocked_ps"] == 9_020 * BYTE_NS * 1_000
    short = changed(("frame_bytes = 9_000", "frame_bytes = 100"))
    assert session.planned(short)["streams"]["set"]["terms"]["blocked_ps"] == 120 * BYTE_NS * 1_000
    needed = screen.needs(short, session.planned(short))
    assert "needs 1 switch with 802.1Qbu: frame preemption at 1 port" in needed


@pytest.mark.parametrize("fragment", [64, 128, 192, 256])
def test_planner_and_checker_have_the_same_longest_wait(fragment: int) -> None:
    (bridge,) = changed((PREEMPTABLE, f"{PREEMPTABLE}\nmin_fragment_bytes = {fragment}")).bridge
    for longest in (64, fragment + 58, fragment + 59, fragment + 60, 2 * fragment + 100, 1_500):
        by_trying = interruptions.longest_bytes(longest, fragment)
        assert by_trying == min(longest + 20, preemption.wait_bytes(bridge))


@pytest.mark.parametrize("name", ["habitat.toml", "gptp.toml"])
def test_plans_of_other_networks_hold(name: str) -> None:
    text = (ROOT / "examples" / name).read_text(encoding="utf-8")
    text = text.replace("[[bridge]]", f"[[bridge]]\n{PREEMPTABLE}")
    scenario = loading.parse(text.replace("[[station]]", "[[station]]\npreemption = true"), name)
    plan = session.planned(scenario)
    assert plan["status"] == "feasible" and problems(scenario, plan) == []


def release_window(entries: list[dict[str, Any]]) -> None:
    del next(entry for entry in entries if "hold" in entry)["hold"]


def hold_always(entries: list[dict[str, Any]]) -> None:
    entries[0]["hold"] = True


def shut_best_effort(entries: list[dict[str, Any]]) -> None:
    entries[0]["gates"] = "0x40"


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        (release_window, "held back exactly in windows"),
        (hold_always, "held back exactly in windows"),
        (shut_best_effort, "gate of preemptable frames is closed"),
    ],
)
def test_the_checker_refuses_other_lists(wrong: Any, word: str) -> None:
    scenario = changed(GATED)
    plan = copy.deepcopy(session.planned(scenario))
    wrong(plan["bridges"]["sw"]["ports"]["drive"]["entries"])
    (found, *_) = problems(scenario, plan)
    assert word in found


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(PREEMPTABLE, "preemptable = []")],
         "key `bridge[0].preemptable` = []: every queue is express then; list priorities of"),
        ([(PREEMPTABLE, "preemptable = [0, 1, 2, 3, 4, 5, 6, 7]")], "no queue is express then"),
        ([(PREEMPTABLE, "preemptable = [0, 5]")],
         'must not list 5, the priority of stream "set", as only express frames have bounds'),
        ([(PREEMPTABLE, f"{PREEMPTABLE}\nqueues = 4\ntraffic_classes = [0, 0, 1, 1, 1, 2, 2, 3]")],
         "must list all priorities of a traffic class or none, and 4 has class 1, too"),
        ([("preemption = true", "preemption = false")], "no neighbour can put fragments together"),
        ([(PREEMPTABLE, f"{PREEMPTABLE}\nmin_fragment_bytes = 100")],
         "key `bridge[0].min_fragment_bytes` = 100: must be 64, 128, 192 or 256"),
        ([(GATED[0], 'gates.drive.entries = [{ gates = "0xff", ns = 1000 }]')],
         'needs gates = "auto" or "none", as other gate lists have no HOLD'),
    ],
)  # fmt: skip
def test_keys_that_do_not_fit_are_refused_in_a_sentence(
    pairs: list[tuple[str, str]], message: str
) -> None:
    with pytest.raises(ConfigError) as error:
        changed(*pairs)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_tc_and_ethtool_get_classes_and_fragments() -> None:
    scenario = changed((PREEMPTABLE, f"{PREEMPTABLE}\nmin_fragment_bytes = 128"))
    exported = commands.export(with_plan(scenario))
    script = exported.files["sw.sh"].replace("\\\n\t", "").splitlines()
    assert (
        "ethtool --set-mm swp2 pmac-enabled on tx-enabled on verify-enabled on tx-min-frag-size 124"
    ) in script
    # Priorities 0 to 3 have classes 1, 0, 2 and 3.
    assert (
        "tc qdisc replace dev swp2 parent root handle 100 mqprio num_tc 8"
        " map 1 0 2 3 4 5 6 7 1 1 1 1 1 1 1 1 queues 1@0 1@1 1@2 1@3 1@4 1@5 1@6 1@7"
        " mode dcb hw 1 fp P P P P E E E E"
    ) in script
    assert any(note.startswith("drive: the card must put") for note in exported.notes)


def exported(entries: int) -> Port:
    """A port with as many of them, each of 1 us."""
    masks = [(0x10F if number % 2 else 0x1F, 1_000) for number in range(entries)]
    return Port("sw", "drive", "swp2", 10**9, 500, tuple(masks), preemptable=0x0F)


def test_gate_lists_of_formats_have_hold() -> None:
    planned = with_plan(changed(GATED))
    script = commands.export(planned).files["sw.sh"]
    entries = [line.split()[1:3] for line in script.splitlines() if "sched-entry" in line]
    assert "no more than 24" in str(commands._not_by_tc(exported(25))) and (
        commands._not_by_tc(exported(24)) is None
    )
    assert " fp P P P P E E E E \\\n" in script
    assert [entry for entry in entries if entry[0] == "H"] == [["H", "0x2f"]]
    assert {entry[0] for entry in entries} == {"H", "R"}
    tables = json.loads(yang.export(planned).files["sw.json"])
    (port,) = tables["ietf-interfaces:interfaces"]["interface"]
    table = port["ieee802-dot1q-bridge:bridge-port"]
    listed = table["ieee802-dot1q-sched-bridge:gate-parameter-table"]["admin-control-list"]
    assert [
        entry["gate-states-value"]
        for entry in listed["gate-control-entry"]
        if entry["operation-name"] == "ieee802-dot1q-sched:set-and-hold-mac"
    ] == [0x2F]
    with pytest.raises(ConfigError, match="has no HOLD"):
        tsntool.export(planned)
