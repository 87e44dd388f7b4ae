# SPDX-License-Identifier: GPL-2.0-only
"""The simulator's TCP beside Linux's own over the same lossy bottleneck: throughput within 15 %
over losses of 0.01 to 5 % and round trips of 0.2 to 20 ms. Tables go to out/measured.

Linux's runs are single, so they are as long as their own scatter asks for; the simulator's are
means over seeds.
"""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from keepon._sim import Simulation
from keepon_guests import GuestResult, get_kernel, offered_families, run_guest
from keepon_host.checkout import checkout_root

pytestmark = [pytest.mark.vm, pytest.mark.soak]

HERE = Path(__file__).parent
# So low that the emulated CPU, 500 million instructions a second, is idle for two thirds of it.
RATE_BPS = 50_000_000
QUEUE = 100
CONTROLS = ("reno", "cubic")
# By round trip in us: seconds by loss in per cent. Where the wire is full little scatters.
SECONDS = {
    20_000: {0.01: 20, 0.1: 40, 1.0: 40, 5.0: 60},
    2_000: {0.01: 10, 0.1: 10, 1.0: 10, 5.0: 60},
    200: {0.01: 10, 0.1: 10, 1.0: 10, 5.0: 60},
}
SEEDS = range(1, 11)
TOLERANCE = 0.15
# An idle CPU counts its ticks, 100 a second; a connection that fills the wire leaves this much.
IDLE_MIN = 0.5


@dataclass(frozen=True)
class Transfer:
    """What came of a connection: payload delivered, and what its sender did."""

    bps: float
    timeouts: int
    recoveries: int
    retransmissions: int


def _counters(text: str) -> dict[str, int]:
    """/proc/net/netstat and snmp: a line of names, a line of values."""
    lines = [line.split() for line in text.splitlines()]
    return {
        f"{names[0]}{name}": int(value)
        for names, values in zip(lines[::2], lines[1::2], strict=True)
        for name, value in zip(names[1:], values[1:], strict=True)
    }


def run(family: str, rtt_us: int) -> GuestResult:
    words = " ".join(f"{loss:g}:{seconds}" for loss, seconds in SECONDS[rtt_us].items())
    variables = {
        "RATE_BPS": str(RATE_BPS), "QUEUE": str(QUEUE), "RTT_US": str(rtt_us),
        "CONTROLS": " ".join(CONTROLS), "RUNS": words,
    }  # fmt: skip
    result = run_guest(
        get_kernel(family), HERE / "tcp_lossy.sh", tools=["iperf3"], environment=variables,
        icount_shift=1, timeout_s=2400, virtual_limit_s=900,
    )  # fmt: skip
    assert result.check().tap.problems() == []
    return result


def measured(result: GuestResult, control: str, loss: float) -> Transfer:
    name = f"{control}-{loss:g}"
    end = json.loads(result.files[f"{name}.json"])["end"]
    before, after = (
        _counters(result.files[f"{name}.{when}"].decode()) for when in ("before", "after")
    )
    found = {key: value - before[key] for key, value in after.items()}
    return Transfer(
        end["sum_received"]["bits_per_second"], found["TcpExt:TCPTimeouts"],
        found["TcpExt:TCPSackRecovery"], end["sum_sent"]["retransmits"],
    )  # fmt: skip


def idle(result: GuestResult, control: str, loss: float) -> float:
    """Share of the CPU's time that was left while a connection ran."""
    lines = result.files[f"{control}-{loss:g}.cpu"].decode().splitlines()
    first, last = ([int(word) for word in line.split()[1:9]] for line in lines)
    spent = [b - a for a, b in zip(first, last, strict=True)]
    return spent[3] / sum(spent)


def simulated(control: str, loss: float, rtt_us: int, seed: int) -> Transfer:
    """The same stations, queue and wire, without host latencies."""
    seconds = SECONDS[rtt_us][loss]
    simulation = Simulation(seed)
    nic = {"coalesce_ns": 0, "coalesce_frames": 1}
    a, b = (simulation.add_station(name, {"nic": nic}) for name in ("a", "b"))
    near, far = (
        simulation.add_bridge(name, {"queue_frames": QUEUE, "processing_ns": 0})
        for name in ("near", "far")
    )
    simulation.add_link(a, near, 10 * 10**9, 0)
    simulation.add_link(near, far, RATE_BPS, rtt_us * 500)
    simulation.add_link(far, b, 10 * 10**9, 0)
    simulation.set_loss(near, far, loss / 100)
    load = simulation.add_load(
        {
            "id": "tcp", "talker": a, "listener": b, "route": [near, far], "kind": "tcp",
            "congestion": control, "start_ns": 0,
        }
    )  # fmt: skip
    simulation.run(seconds * 10**9)
    tcp: Any = simulation.load(load)["tcp"]
    assert tcp["acknowledged_bytes"] <= tcp["delivered_bytes"]
    return Transfer(
        tcp["delivered_bytes"] * 8 / seconds, tcp["timeouts"], tcp["recoveries"],
        tcp["retransmissions"],
    )  # fmt: skip


def _row(control: str, loss: float, rtt_us: int, linux: Transfer, ours: list[Transfer]) -> str:
    bps = [one.bps for one in ours]
    mean = statistics.mean(bps)
    cells = [
        f"{rtt_us / 1000:g}", f"{loss:g}", control, f"{linux.bps / 1e6:.2f}",
        f"{mean / 1e6:.2f}", f"{100 * statistics.stdev(bps) / mean:.0f}", f"{mean / linux.bps:.2f}",
        f"{linux.recoveries}; {statistics.mean(one.recoveries for one in ours):.0f}",
        f"{linux.timeouts}; {statistics.mean(one.timeouts for one in ours):.0f}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("rtt_us", SECONDS)
@pytest.mark.parametrize("family", offered_families())
def test_throughput_is_that_of_linux(family: str, rtt_us: int) -> None:
    result = run(family, rtt_us)
    rows, wrong = [], []
    for control in CONTROLS:
        for loss in SECONDS[rtt_us]:
            linux = measured(result, control, loss)
            ours = [simulated(control, loss, rtt_us, seed) for seed in SEEDS]
            rows.append(_row(control, loss, rtt_us, linux, ours))
            ratio = statistics.mean(one.bps for one in ours) / linux.bps
            if abs(ratio - 1) > TOLERANCE:
                wrong.append(rows[-1])
            assert idle(result, control, loss) >= IDLE_MIN
    table = [
        f"Kernel {get_kernel(family).version}, {RATE_BPS // 10**6} Mb/s, queue {QUEUE} frames.",
        "",
        "| round trip, ms | loss, % | control | Linux, Mb/s | simulator, Mb/s | its scatter, % |"
        " ratio | recoveries | timeouts |",
        "|---|---|---|---|---|---|---|---|---|",
        *rows,
    ]
    text = "\n".join(table) + "\n"
    print(text)
    folder = checkout_root() / "out" / "measured"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"tcp-{family}-{rtt_us}.md").write_text(text)
    assert wrong == []
