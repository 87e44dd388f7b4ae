# SPDX-License-Identifier: GPL-2.0-only
"""Policing of a bridge by the lines of tc that `keepon export` writes, beside the simulator with
`policing = "linux"`: of the same frames at the same instants, Linux's bridge passes the same ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from guest_programs import compiled
from keepon._sim import BridgeSpec, CpuSpec, HostSpec, LoadSpec, NicSpec, Simulation, StationSpec
from keepon.cli import session
from keepon.export import commands, policing
from keepon.export.exported import Planned
from keepon.model import loading
from keepon.model.policing import TAGGED_OVERHEAD_BYTES
from keepon.model.scenario import Scenario
from keepon.targets.sim.psfp import psfp_spec
from keepon_guests import FAMILIES, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "tsn" / "policing.toml"
START_NS = 1_767_225_600_000_000_000 + 8_000_000_000  # 8 s after the guest's clock begins
APART_NS = 500_000_000  # from case to case
FRAMES = 40
GAP_NS = 1_000_000
FIRST_NS = 10_000_000  # of the simulator's first frame
SCENARIO = """
schema = "keepon.scenario/1"
name = "policed"
duration_s = 1.0
station = [{ name = "a", driver = "standard" }, { name = "z", driver = "standard" }]
link = [{ ends = ["a", "sw"] }, { ends = ["sw", "z"] }]
[[bridge]]
name = "sw"
policing = "linux"
stream_filter = [{ source = "a", FILTER }]
"""
LOAD = '[[load]]\nid = "L%d"\ntalker = "a"\nlistener = "z"\nframe_bytes = %d\n'


@dataclass(frozen=True)
class Case:
    """Frames in the middle of each ms, with MSDUs of `octets` in turn; the filter's keys, and
    tables of the bridge in which BASE is the first ms.
    """

    octets: tuple[int, ...]
    filter: str
    tables: str = ""
    device: str = "near"
    actions: str = ""  # after those that are exported
    base_ms: int = 0
    top: bool = False  # they leave the bridge with priority 6
    differs: bool = False  # what the standard passes

    def scenario(self, base_ns: int) -> Scenario:
        text = SCENARIO.replace("FILTER", self.filter) + self.tables
        text += "\n" + "".join(
            LOAD % (i, octets + TAGGED_OVERHEAD_BYTES) for i, octets in enumerate(self.octets)
        )
        text = text.replace("BASE", str(base_ns + self.base_ms * GAP_NS))
        return loading.parse(text, "policed.toml")

    def simulated(self, base_ns: int, rules: str = "linux") -> list[int]:
        """The frames that reach z."""
        scenario = self.scenario(base_ns)
        bridge = scenario.bridge[0].model_copy(update={"policing": rules})
        sim = Simulation(1, base_ns + GAP_NS // 2 - FIRST_NS)
        a, z = (
            sim.add_station(
                name,
                StationSpec(
                    driver="standard", nic=NicSpec(frame_bytes_max=9018), host=HostSpec(),
                    cpu=CpuSpec(),
                ),
            )
            for name in "az"
        )  # fmt: skip
        node = sim.add_bridge("sw", BridgeSpec())
        sim.add_link(a, node, 1_000_000_000, 0)
        sim.add_link(node, z, 1_000_000_000, 0)
        flows = {}
        for i, load in enumerate(scenario.load):
            rate_bps = load.frame_bytes * 8 * 1_000_000_000 // (GAP_NS * len(self.octets))
            flow = sim.add_load(
                LoadSpec(
                    id=load.id, talker=a, listener=z, route=[node], frame_bytes=load.frame_bytes,
                    rate_bps=rate_bps, start_ns=FIRST_NS + i * GAP_NS,
                )
            )  # fmt: skip
            flows[load.id] = [flow]
        sim.set_psfp(node, psfp_spec(scenario, bridge, [], flows))
        arrived = []
        for number in range(FRAMES):
            (flow,) = flows[f"L{number % len(self.octets)}"]
            before = sim.load(flow)["delivered"]
            sim.run(FIRST_NS + number * GAP_NS + GAP_NS // 2)
            arrived += [number] if sim.load(flow)["delivered"] > before else []
        return arrived

    def lines(self, base_ns: int) -> str:
        scenario = self.scenario(base_ns)
        planned = Planned(scenario, session.planned(scenario))
        text = "\n".join(policing.lines(planned, scenario.bridge[0]))
        return f"{text} {self.actions}\n"


def gate(*entries: str) -> str:
    listed = ", ".join("{ " + entry + " }" for entry in entries)
    return f"stream_gate.g = {{ base_ns = BASE, entries = [{listed}] }}"


TWO_OF_46 = gate("ns = 5_000_000, octets = 92")
SCHEDULE = gate("ns = 5_000_000, priority = 6", "ns = 3_000_000, open = false")
CASES = {
    "schedule": Case((1000,), 'gate = "g"', SCHEDULE),
    # 1000 pass, of the other 1700 none by Linux; the standard passes the 300.
    "dropped-octets": Case(
        (1000, 1400, 300), 'gate = "g"', gate("ns = 6_000_000, octets = 1400"), differs=True
    ),
    "octets-short": Case((46,), 'gate = "g"', TWO_OF_46),
    "octets-tagged": Case((46,), 'gate = "g"', TWO_OF_46, device="near.5"),
    "before-base": Case(
        (1000,), 'gate = "g"', gate("ns = 3_000_000, open = false", "ns = 5_000_000"),
        base_ms=13, differs=True,
    ),
    "priority": Case(
        (1000,), 'gate = "g"', SCHEDULE, actions="action skbedit priority 6", top=True
    ),
    "meter": Case(
        (1000, 300), 'meter = "m"', "flow_meter.m = { cir_bps = 2_600_000, cbs_bytes = 2_000 }",
        differs=True,
    ),
    "meter-long": Case(
        (1000, 2027), 'meter = "m"',
        "flow_meter.m = { cir_bps = 1_000_000_000, cbs_bytes = 100_000 }",
    ),
    "too-long": Case((1000, 1001, 46), "max_sdu_bytes = 1000"),
    "too-long-tagged": Case((1000, 1001, 46), "max_sdu_bytes = 1000", device="near.5"),
    # What is too long does not come to the gate, and what the gate drops not to the meter.
    "in-order": Case(
        (1000, 1400, 300), 'max_sdu_bytes = 1300, gate = "g", meter = "m"',
        gate("ns = 12_000_000, octets = 2300", "ns = 3_000_000, open = false")
        + "\nflow_meter.m = { cir_bps = 100_000, cbs_bytes = 7_000 }",
    ),
}  # fmt: skip
BASES = {name: START_NS + i * APART_NS for i, name in enumerate(CASES)}


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_linux_passes_the_frames_that_the_simulator_passes(family: str, tmp_path: Path) -> None:
    scenario = loading.load(EXAMPLE)
    example = commands.export(Planned(scenario, session.planned(scenario)))
    assert sum("has 21 ns, which Linux" in note for note in example.notes) == 1
    cases = "".join(
        f"{name} {case.device} {BASES[name] + GAP_NS // 2} {GAP_NS} {FRAMES}"
        f" {' '.join(map(str, case.octets))}\n"
        for name, case in CASES.items()
    )
    result = checked(
        lambda: run_guest(
            get_kernel(family), HERE / "policed_frames.sh",
            {
                "/usr/bin/policed_frames": compiled(tmp_path, "policed_frames"),
                "/lib/keepon/cases": cases.encode(),
                "/export/example": example.files["sw.sh"].encode(),
                **{f"/export/{n}": c.lines(BASES[n]).encode() for n, c in CASES.items()},
            },
        )
    )  # fmt: skip
    assert result.tap.problems() == [], result.stdout
    for name, case in CASES.items():
        *words, _ = result.files[f"{name}.arrived"].split()
        passed = [int(word.split(b":")[0]) for word in words]
        assert passed == case.simulated(BASES[name]), name
        assert (passed != case.simulated(BASES[name], "802.1Q")) == case.differs, name
        assert 0 < len(passed) < FRAMES or name == "meter-long"
        sent = re.findall(r"Sent \d+ bytes (\d+) pkt", result.files[f"{name}.classes"].decode())
        assert int(sent[1]) == (0 if case.top else len(passed)), name
    shown = result.files["example"].decode()
    assert "interval 21ns" in shown and "rate 100Mbit" in shown, shown
