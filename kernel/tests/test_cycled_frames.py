# SPDX-License-Identifier: GPL-2.0-only
"""Cyclic queuing and forwarding of two Linux bridges in software, by the scripts and programs that
`keepon export` writes: over h bridges each frame takes (h - 1) T to (h + 1) T.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from guest_programs import compiled
from keepon.cli import session
from keepon.export import commands
from keepon.export.exported import Planned
from keepon.model import loading
from keepon_guests import FAMILIES, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
CYCLE_NS = 4_000_000
FIRST_NS = 1_767_225_600_000_000_000 + 12_000_000_000  # 12 s after the guest's clock begins
APART_NS = 1_000_000_000
FRAMES = 96
GAP_NS = CYCLE_NS + CYCLE_NS // FRAMES  # so that they are sent all over the cycle
SOFTWARE_NS = 500_000  # of the guest's CPU, from the end of a cycle on
SCENARIO = f"""
schema = "keepon.scenario/1"
name = "cycled"
duration_s = 1.0
defaults.rate_bps = 10_000_000_000
station = [
  {{ name = "a", driver = "launchtime", host = "tsn-end-station" }},
  {{ name = "z", driver = "standard" }},
]
bridge = [
  {{ name = "sw1", gates = "cqf", cqf_cycle_ns = {CYCLE_NS}, cqf_buffers = BUFFERS }},
  {{ name = "sw2", gates = "cqf", cqf_cycle_ns = {CYCLE_NS}, cqf_buffers = BUFFERS }},
]
link = [{{ ends = ["a", "sw1"] }}, {{ ends = ["sw1", "sw2"] }}, {{ ends = ["sw2", "z"] }}]
[[stream]]
id = "s0"
talker = "a"
listeners = ["z"]
period_ns = {2 * CYCLE_NS}
frame_bytes = 1000
[[stream]]
id = "s1"
talker = "a"
listeners = ["z"]
period_ns = {2 * CYCLE_NS}
frame_bytes = 500
"""


def programs(files: dict[str, str], vlan: int, folder: Path) -> dict[str, bytes]:
    """What the scripts compile, here: guests have no compiler."""
    addresses = {f"DST_s{n}": f"02:00:00:00:01:0{n}" for n in range(2)}
    environment = os.environ | addresses | {"VLAN": str(vlan), "here": str(folder)}
    found = {}
    for name in ("sw1", "sw2"):
        (folder / f"{name}-cqf.bpf.c").write_text(files[f"{name}-cqf.bpf.c"])
        match = re.search(r"clang -O2 .*?-cqf.bpf.o", files[f"{name}.sh"], re.DOTALL)
        assert match is not None
        command = match[0].replace("/run/", "$here/").replace("-O2", "-O2 -Wall -Werror")
        subprocess.run(["sh", "-euc", command], env=environment, check=True)
        found[f"/export/{name}-cqf.bpf.o"] = (folder / f"{name}-cqf.bpf.o").read_bytes()
    return found


@pytest.mark.parametrize(("buffers", "vlan"), [(2, 0), (3, 5)])
@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_every_frame_is_within_the_bounds_of_cycles(
    family: str, buffers: int, vlan: int, tmp_path: Path
) -> None:
    scenario = loading.parse(SCENARIO.replace("BUFFERS", str(buffers)), "cycled.toml")
    files = commands.export(Planned(scenario, session.planned(scenario))).files
    # The MSDUs of s0 and s1, and of a frame of neither; 22 bytes are header, tag and FCS.
    devices = ("near.5", "near") if vlan else ("near", "near.5")
    runs = dict(zip(("cycles", "other", "alone"), (*devices, devices[0]), strict=True))
    sent = "".join(
        f"{name} {device} {FIRST_NS + n * APART_NS} {GAP_NS} {FRAMES} 978 478 100\n"
        for n, (name, device) in enumerate(runs.items())
    )
    result = checked(
        lambda: run_guest(
            get_kernel(family), HERE / "cycled_frames.sh",
            {
                "/usr/bin/policed_frames": compiled(tmp_path, "policed_frames"),
                "/lib/keepon/frames": sent.encode(),
                **{f"/export/{name}": text.encode() for name, text in files.items()},
                **programs(files, vlan, tmp_path),
            },
        )
    )  # fmt: skip
    assert result.tap.problems() == [], result.stdout
    took_ns = {}
    for name in runs:
        *words, late_ns = result.files[name].split()
        took_ns[name] = dict(tuple(map(int, word.split(b":"))) for word in words)
        assert sorted(took_ns[name]) == list(range(FRAMES)) and int(late_ns) < SOFTWARE_NS
    streams = [ns for number, ns in took_ns["cycles"].items() if number % 3 < 2]
    cycles = 2 * (buffers - 1)
    assert (cycles - 1) * CYCLE_NS <= min(streams) < (cycles - 1) * CYCLE_NS + CYCLE_NS // 8
    assert (cycles + 1) * CYCLE_NS >= max(streams)
    # Of frames that are of no stream or in another VLAN, and of all without programs, none waits.
    assert max(ns for n, ns in took_ns["cycles"].items() if n % 3 == 2) < SOFTWARE_NS
    assert max(*took_ns["other"].values(), *took_ns["alone"].values()) < SOFTWARE_NS
