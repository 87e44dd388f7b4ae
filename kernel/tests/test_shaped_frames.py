# SPDX-License-Identifier: GPL-2.0-only
"""Credit-based shapers of Linux's bridge, by the lines of tc that `keepon export` writes, without
offload, beside the simulator's: of the same frames of two classes and of best effort, both let the
same ones go in the same order, those of a class as far apart as its idle slope has them.

Instants are those of an emulated CPU, whose work between two frames takes time, too.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from guest_programs import compiled
from keepon._sim import BridgeSpec, CpuSpec, HostSpec, LoadSpec, NicSpec, Simulation, StationSpec
from keepon.cli import session
from keepon.export import commands
from keepon.export.exported import Planned
from keepon.model import loading
from keepon_guests import FAMILIES, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
FIRST_NS = 1_767_225_600_000_000_000 + 10_000_000_000  # 10 s after the guest's clock begins
GAP_NS = 200_000
FRAMES = 36
RATE_BPS = 10_000_000_000  # of a veth
SDU_BYTES = (1000, 500, 100)  # in turn, priority 5, 4 and 0
LINUX_BYTES = 14  # that a qdisc counts beside the MSDU: no FCS, preamble and gap
STANDARD_BYTES = 14 + 4 + 20
SLOPES = {5: 8_000_000, 4: 2_000_000}
SOFTWARE_NS = 100_000  # of the guest's CPU, between what is due and what is stamped
SCENARIO = f"""
schema = "keepon.scenario/1"
name = "shaped"
duration_s = 1.0
defaults.rate_bps = {RATE_BPS}
station = [
  {{ name = "a", driver = "foreign" }},
  {{ name = "z", driver = "standard" }},
]
link = [{{ ends = ["a", "sw"] }}, {{ ends = ["sw", "z"] }}]
[[bridge]]
name = "sw"
gates = "none"
shaper = [
  {{ priority = 5, idle_slope_bps = {SLOPES[5]} }},
  {{ priority = 4, idle_slope_bps = {SLOPES[4]} }},
]
"""
STREAM = """
[[stream]]
id = "s%d"
talker = "a"
listeners = ["z"]
period_ns = 10_000_000
frame_bytes = %d
priority = %d
"""


def simulated() -> list[tuple[int, int]]:
    """When what was sent arrives, in ns from the first one, within 10 us, and its number."""
    sim = Simulation(1, FIRST_NS)
    a, z = (
        sim.add_station(
            name, StationSpec(driver="standard", nic=NicSpec(), host=HostSpec(), cpu=CpuSpec())
        )
        for name in "az"
    )
    sw = sim.add_bridge("sw", BridgeSpec())
    sim.add_link(a, sw, RATE_BPS, 0)
    sim.add_link(sw, z, RATE_BPS, 0)
    for queue, slope_bps in SLOPES.items():
        sim.set_shaper(sw, z, queue, slope_bps)
    flows, kinds = [], len(SDU_BYTES)
    for kind, (octets, queue) in enumerate(zip(SDU_BYTES, (*SLOPES, 0), strict=True)):
        frame_bytes = octets + STANDARD_BYTES - 20
        rate_bps = frame_bytes * 8 * 1_000_000_000 // (GAP_NS * kinds)
        spec = LoadSpec(
            id=f"L{kind}", talker=a, listener=z, route=[sw], frame_bytes=frame_bytes,
            rate_bps=rate_bps, start_ns=GAP_NS * (kind + 1), queue=queue,
        )  # fmt: skip
        flows.append(sim.add_load(spec))
    found, seen = list[tuple[int, int]](), [0] * kinds
    for now_ns in range(0, 100_000_000, 10_000):
        sim.run(now_ns)
        for kind, flow in enumerate(flows):
            for number in range(seen[kind], sim.load(flow)["delivered"]):
                if kinds * number + kind < FRAMES:
                    found.append((now_ns - GAP_NS, kinds * number + kind))
            seen[kind] = sim.load(flow)["delivered"]
    return found


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_linux_lets_frames_go_as_the_simulator_does(family: str, tmp_path: Path) -> None:
    scenario = loading.parse(
        SCENARIO + "".join(STREAM % (own, 1022, own) for own in SLOPES), "shaped.toml"
    )
    files = commands.export(Planned(scenario, session.planned(scenario))).files
    sent = f"{FIRST_NS} {GAP_NS} {FRAMES} {' '.join(map(str, SDU_BYTES))}\n"
    result = checked(
        lambda: run_guest(
            get_kernel(family), HERE / "shaped_frames.sh",
            {
                "/usr/bin/policed_frames": compiled(tmp_path, "policed_frames"),
                "/lib/keepon/frames": sent.encode(),
                "/export/sw.sh": files["sw.sh"].encode(),
            },
        )
    )  # fmt: skip
    assert result.tap.problems() == [], result.stdout
    assert result.files["qdiscs"].count(b"qdisc cbs ") == len(SLOPES)
    *words, late_ns = result.files["arrived"].split()
    assert int(late_ns) < SOFTWARE_NS
    pairs = [tuple(map(int, word.split(b":"))) for word in words]
    linux = sorted((number * GAP_NS + took_ns, number) for number, took_ns in pairs)
    model = simulated()
    kinds = len(SDU_BYTES)
    for kind, (octets, slope_bps) in enumerate(zip(SDU_BYTES, SLOPES.values(), strict=False)):
        for found, more_bytes, off_ns in (
            (linux, LINUX_BYTES, SOFTWARE_NS), (model, STANDARD_BYTES, 10_000),
        ):  # fmt: skip
            times = [at_ns for at_ns, number in found if number % kinds == kind]
            turn_ns = (octets + more_bytes) * 8 * 1_000_000_000 / slope_bps
            assert len(times) == FRAMES // kinds
            # No burst, and the rate over all of them.
            for one, other in itertools.pairwise(times):
                assert abs(other - one - turn_ns) < off_ns
            assert abs(times[-1] - times[0] - (len(times) - 1) * turn_ns) < off_ns
        assert [number for _, number in linux if number % kinds == kind] == [
            number for _, number in model if number % kinds == kind
        ]
    # Best effort waits for none of them.
    for found in (linux, model):
        for at_ns, number in found:
            assert number % kinds < 2 or at_ns - number * GAP_NS < SOFTWARE_NS
