# SPDX-License-Identifier: GPL-2.0-only
"""keepon_hwsim.ko: wires, rings, bridges and launch-time NICs, by counters in the guest and by exact record here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from keepon.vm import GuestResult, agreed, build_modules, get_kernel, offered_families, run_guest

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOOLS = ROOT / "out" / "build" / "python" / "tools"
COMMON = {"/lib/keepon/hwsim_common.sh": HERE / "hwsim_common.sh"}
FIELD = re.compile(r"(\w+)=(\S+)")
PREAMBLE_NS = 64


def boot(
    script: str, family: str, mode: str = "icount", tools: tuple[str, ...] = (), rounds: int = 0, timeout_s: int = 240
) -> GuestResult:
    kernel = get_kernel(family)
    modules = build_modules(kernel, [HERE.parent / "hwsim", HERE / "native_probe"])

    def run() -> GuestResult:
        return run_guest(
            kernel,
            HERE / script,
            COMMON,
            modules=modules,
            tools=[TOOLS / name for name in tools],
            environment={"ROUNDS": str(rounds)},
            mode=mode,
            timeout_s=timeout_s,
        )

    result = agreed(run) if mode == "icount" else run().check()
    assert result.tap.problems() == []
    return result


def to_ps(text: str) -> int:
    ns, ps = text.split(".")
    return int(ns) * 1000 + int(ps)


def read_record(data: bytes) -> list[dict[str, Any]]:
    """Lines of a wire record: kind, times in ps, numbers as int."""
    records = []
    for line in data.decode().splitlines():
        kind, _, rest = line.partition(" ")
        fields: dict[str, Any] = {"kind": kind}
        for key, value in FIELD.findall(rest):
            if key.endswith("_ns"):
                fields[key.replace("_ns", "_ps")] = to_ps(value)
            else:
                fields[key] = int(value) if value.isdigit() and key != "head" else value
        records.append(fields)
    return records


@pytest.mark.parametrize("family", offered_families())
def test_a_pair_of_nics_and_every_fault(family: str) -> None:
    boot("hwsim_pair.sh", family)


def test_a_lent_ring_sends_what_was_fetched_and_each_slot_stands_in_the_record() -> None:
    result = boot("hwsim_ring.sh", "6.1")
    records = {name: read_record(data) for name, data in result.files.items() if name.startswith("wire-")}
    assert len(records) == 3
    for name, lines in records.items():
        slots = lines[: [line["kind"] for line in lines].index("reset")]
        assert sum(1 for line in slots if line["kind"] == "frame") > 10, name
        next_seq, next_ps = 0, slots[0]["phc_ps"]
        for line in slots:
            # 1230 bytes, preamble and gap at 1 Gb/s: slots of 10 us of the NIC's own time, without a hole.
            assert (line["seq"], line["phc_ps"], line["bytes"]) == (next_seq, next_ps, 1230), name
            next_seq += line.get("count", 1)
            next_ps += line.get("count", 1) * 10_000_000
        elapsed_raw = slots[-1]["raw_ps"] - slots[0]["raw_ps"]
        elapsed_phc = slots[-1]["phc_ps"] - slots[0]["phc_ps"]
        assert abs((elapsed_phc - elapsed_raw) * 1e9 / elapsed_raw - 12500) < 1, "the NIC's oscillator is 12.5 ppm fast"


def stamps(result: GuestResult, talk: str, listen: str) -> list[tuple[int, int, int]]:
    """(txtime, transmit stamp, receive stamp) in ns of each frame, by sequence number."""
    sent = json.loads(result.files[talk])["frames"]
    received = {frame["seq"]: frame for frame in json.loads(result.files[listen])["frames"]}
    return [(frame["txtime_ns"], frame["tx_stamp_ns"], received[frame["seq"]]["rx_stamp_ns"]) for frame in sent]


def test_bridges_forward_and_launch_times_hold() -> None:
    result = boot("hwsim_network.sh", "6.1", tools=("keepon-talk", "keepon-listen"))
    for txtime, sent, received in stamps(result, "l0.json", "l1.json"):
        assert 0 <= sent - txtime < 32, "the comparator has steps of 32 ns"
        assert abs(received - sent - 50) <= 1, "one PHC at both ends of a wire of 50 ns"
    record = [line for line in read_record(result.files["l0.wire"]) if line["bytes"] == 100]
    assert [line["phc_ps"] // 1000 for line in record] == [sent for _, sent, _ in stamps(result, "l0.json", "l1.json")]
    assert all((line["phc_ps"] // 1000 - PREAMBLE_NS) % 32 == 0 for line in record)
    for txtime, sent, received in stamps(result, "o0.json", "o1.json"):
        assert -300_000 <= sent - txtime < -250_000, "released delta before its txtime, and sent at once"
        assert abs(received - sent - 50) <= 1
    # Two wires of 50 ns, a frame of 100 bytes stored and forwarded, 2 us of processing.
    for _, sent, received in stamps(result, "bridge-talk.json", "bridge-listen.json"):
        assert abs(received - sent - (50 + 800 + 2000 + PREAMBLE_NS + 50)) <= 1


@pytest.mark.parametrize(("family", "mode"), [(offered_families()[-1], "icount"), ("6.1", "smp")])
def test_unloading_under_traffic(family: str, mode: str) -> None:
    boot("hwsim_reload.sh", family, mode, rounds=6)


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["icount", "smp"])
def test_unloading_under_traffic_for_long(mode: str) -> None:
    boot("hwsim_reload.sh", "6.1", mode, rounds=60, timeout_s=1800)
