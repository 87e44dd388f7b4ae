# SPDX-License-Identifier: GPL-2.0-only
"""A card with a link on it, which stays the machine's: what is sent on it leaves in the link's
slots, beside a stream whose socket is on it, too; and goes its own way when there is no link.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hwsim_wire import stream_deviations_ps
from keepon.targets.vm import observations, programs
from keepon_guests import (
    FAMILIES,
    GuestResult,
    build_modules,
    get_kernel,
    offered_families,
    run_guest,
)
from repeats import checked
from test_kernel_flavours import DEBUG, KCSAN, RT, Flavour

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
BYTE_PS = 80_000  # 100 Mb/s
SEGMENT_BYTES = 1500 - 20 - 32  # payload; headers of IPv4 and of TCP with time stamps
GOODPUT_BPS = 19 // 3 * 1000 * SEGMENT_BYTES * 8
"""19 slots of each 20 a millisecond are best effort's; a frame of MTU 1500 takes three."""
SHARE = 0.98
GAP_MS_MAX = 50
PING_MS = 10
ANSWER = re.compile(r"seq=(\d+) .*time=([0-9.]+) ms")


def boot(script: str, family: str, environment: dict[str, str] | None = None) -> GuestResult:
    kernel = get_kernel(family)
    names = ("native", "hwsim", "keepon", "generic")
    modules = build_modules(kernel, [HERE.parent / name for name in names])
    files = {
        **programs.guest_files(),
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/lib/keepon/ptp.sh": HERE / "ptp_common.sh",
    }
    result = checked(
        lambda: run_guest(
            kernel, HERE / script, files, modules=modules,
            tools=[*programs.tools(), "iperf3", "ptp4l"], environment=environment or {},
            timeout_s=1200,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    return result


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_what_is_sent_on_the_card_leaves_in_slots(family: str) -> None:
    result = boot("keepon_card.sh", family)
    assert np.max(np.abs(stream_deviations_ps(result, "talk-card.json"))) <= BYTE_PS
    count = observations.read_counters(result.files["rt0.stats"].decode())
    troubles = ("underruns", "suspected_underruns", "slips", "doubts", "verdict_oversize")
    assert not any(count[name] for name in troubles)
    end = json.loads(result.files["iperf.json"])["end"]
    assert end["sum_sent"]["retransmits"] == 0
    goodput_bps = end["sum_received"]["bits_per_second"]
    print(f"TCP {goodput_bps / 1e6:.2f} Mb/s of {GOODPUT_BPS / 1e6:.2f}")
    assert SHARE * GOODPUT_BPS <= goodput_bps <= GOODPUT_BPS


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
@pytest.mark.parametrize(
    ("rounds", "seed"), [(16, 1), pytest.param(200, 2, marks=pytest.mark.full)]
)
def test_its_own_way_is_open_again_at_once(family: str, rounds: int, seed: int) -> None:
    result = boot("keepon_card_life.sh", family, {"ROUNDS": str(rounds), "SEED": str(seed)})
    answers = ANSWER.findall(result.files["pings"].decode())
    came_ms = [int(number) * PING_MS + float(time) for number, time in answers]
    worst_ms = max(np.diff(came_ms))
    print(f"{len(answers)} answers, {worst_ms:.1f} ms without one at worst")
    assert worst_ms <= GAP_MS_MAX


# Two CPUs in the host's time: how long an answer takes there says nothing.
SMP = Flavour("cloud", mode="smp", timeout_s=3600)
STRICTER = [
    pytest.param(RT, marks=pytest.mark.full, id="rt"),
    pytest.param(SMP, marks=pytest.mark.soak, id="two CPUs"),
    pytest.param(DEBUG, marks=pytest.mark.soak, id="debug"),
    pytest.param(KCSAN, marks=pytest.mark.soak, id="kcsan"),
]


@pytest.mark.parametrize("flavour", STRICTER)
def test_no_lock_or_context_of_it_is_wrong(flavour: Flavour) -> None:
    result = flavour.run("keepon_card_life.sh", ROUNDS="40", SEED="3")
    assert result.tap.problems() == []


@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_any_driver(family: str) -> None:
    boot("keepon_card_generic.sh", family)
