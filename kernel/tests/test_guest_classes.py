# SPDX-License-Identifier: GPL-2.0-only
"""Classes of a guest behind a bridge on a card with a link: `flower` and `skbedit` at its tap make
priorities of PCP, and the gates of the link hold for its frames, each judged on the wire.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from gate_judge import Judge, Schedule, read_wire
from guest_programs import PLUGIN, compiled, plugin
from keepon_guests import FAMILIES, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
SLOT_NS = 100_000  # 1230 bytes and what surrounds them at 100 Mb/s


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_frames_of_a_guest_leave_in_the_windows_of_their_class(family: str, tmp_path: Path) -> None:
    kernel = get_kernel(family)
    files = {
        "/lib/keepon/common.sh": HERE / "keepon_common.sh", PLUGIN: plugin(tmp_path),
        "/usr/bin/gate_load": compiled(tmp_path, "gate_load"),
    }  # fmt: skip
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    result = checked(
        lambda: run_guest(kernel, HERE / "guest_classes.sh", files, modules=modules, timeout_s=600)
    )
    assert result.tap.problems() == [], result.stdout
    for case in ("bare", "classes"):
        asked, load, record = (
            result.files[f"{name}-{case}"].decode() for name in ("asked", "load", "wire")
        )
        tagged = set(re.findall(r"head=.{24}8100(.)00588b5(..)", record))
        assert tagged == {(f"{2 * n:x}", f"{n:02x}") for n in range(4)}  # PCP, priority
        wire, _ = read_wire(
            re.sub(r"(head=.{24})8100.{4}", r"\1", record), load, byte_ns=80
        ).on_grid(SLOT_NS)
        by_class = Counter(frame.priority for frame in wire.frames)
        print(family, case, sorted(by_class.items()))
        assert min(by_class[n] for n in range(4)) > 100
        judge = Judge([Schedule.read(asked)], SLOT_NS, slack_ns=2_500, guard_ns=6_000_000)
        judge.settle(wire.frames)
        astray = [frame.priority for frame in judge.violations(wire.frames)]
        if case == "bare":  # a bridge makes no priority of PCP: all of them are best effort
            assert set(astray) == {1, 2, 3}
            wire.frames = [replace(frame, priority=0) for frame in wire.frames]
            astray = [frame.priority for frame in judge.violations(wire.frames)]
        assert astray == []
