# SPDX-License-Identifier: GPL-2.0-only
"""Runs published_three.sh, the published three classes beside a load, and reads what it leaves."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from keepon.targets.vm import observations, programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from keepon_host.checkout import checkout_root
from repeats import checked

HERE = Path(__file__).parent
OSCILLATOR_PPB = 20_000  # of sim0
STREAMS = ("tc0", "tc1")
PERIOD_PS = 1_000_000_000
APART_PS = 300_000_000  # from TC0's window to TC1's
LOAD_TIME = 0.4  # of each cycle
MTU_BYTES, SLOT_BYTES, GAP_BYTES = 1192, 1230, 20
HEADERS_BYTES = {"tcp": 20 + 32, "udp": 20 + 8}
"""Of IPv4, and of TCP with time stamps or of UDP."""
QDISC = re.compile(r"^qdisc (\w+) .*\n Sent .*\(dropped (\d+), overlimits (\d+) ", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """What a way does to the classes.

    Attributes:
        left_ps: by stream and sequence number when the reference plane of its frames left, in the
            NIC's time and less txtime (less the instant meant, where nothing has a txtime).
        sent: how many of each stream left.
        load_bps: what arrived of the load.
        dropped, expired: by etf, frames in all, and those whose time had passed by then.
        timeouts: of TCP's retransmission timer.
        retransmits: segments of TCP sent again.
    """

    left_ps: dict[str, dict[int, int]]
    load_bps: float
    dropped: int
    expired: int
    timeouts: int
    retransmits: int
    sent: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sent", {tc: len(left) for tc, left in self.left_ps.items()})

    @property
    def spread_ps(self) -> dict[str, int]:
        """By stream: as far apart as its frames get."""
        return {tc: max(left.values()) - min(left.values()) for tc, left in self.left_ps.items()}

    def deviations_ps(self, stream: str) -> list[int]:
        """From the period, of frames that follow each other."""
        left = self.left_ps[stream]
        return [left[seq] - left[seq - 1] for seq in left if seq - 1 in left]

    def apart_ps(self) -> list[int]:
        """Deviations of the distance from a frame of TC0 to TC1's of the same cycle."""
        first, second = (self.left_ps[tc] for tc in STREAMS)
        return [second[seq] - first[seq] for seq in first if seq in second]


def run(
    family: str, way: str, rate_bps: int, frames: int, load: str = "tcp", load_s: int = 1
) -> GuestResult:
    """A guest. Times are simulated, so only the host's speed decides how long it takes."""
    kernel = get_kernel(family)
    modules = build_modules(
        kernel, [HERE.parent / "native", HERE.parent / "hwsim", HERE.parent / "keepon"]
    )
    variables = {
        "WAY": way, "RATE_BPS": str(rate_bps), "FRAMES": str(frames), "LOAD": load,
        "SECONDS_LOAD": str(load_s),
    }  # fmt: skip
    result = run_guest(
        kernel, HERE / "published_three.sh", programs.guest_files(), modules=modules,
        tools=[*programs.tools(), "iperf3"], environment=variables, icount_shift=1, timeout_s=1800,
    )  # fmt: skip
    assert result.check().tap.problems() == []
    return result


def _left_ps(result: GuestResult) -> dict[str, dict[int, int]]:
    """The wire's time is carried to the NIC's oscillator; frames are numbered by their periods."""
    record = observations.read_wire(result.files["wire"].decode())
    talks = {tc: observations.load_json(result.files, f"{tc}.json")["frames"] for tc in STREAMS}
    base_ns = min(frame["txtime_ns"] for frames in talks.values() for frame in frames)
    left: dict[str, dict[int, int]] = {stream: {} for stream in STREAMS}
    for stream, frames in talks.items():
        number = observations.stream_hash(stream)
        for frame in frames:
            raw_ps = record.raw_ps.get((number, frame["seq"]))
            if raw_ps is None:
                continue
            local_ps = int(raw_ps) + int(raw_ps) // 1000 * OSCILLATOR_PPB // 1_000_000
            at_ps = (frame["txtime_ns"] - base_ns) * 1000
            left[stream][at_ps // PERIOD_PS] = local_ps - at_ps
    return left


def _of_tcp(result: GuestResult, name: str) -> int:
    rows = [line.split() for line in result.files["netstat"].decode().splitlines()]
    names = next(row for row in rows if row[0] == "TcpExt:")
    values = next(row for row in rows if row[0] == "TcpExt:" and row is not names)
    return int(values[names.index(name)])


def outcome(result: GuestResult) -> Outcome:
    end = json.loads(result.files["iperf3.json"])["end"]
    qdiscs = QDISC.findall(result.files["qdisc"].decode())
    return Outcome(
        _left_ps(result),
        end["sum_received"]["bits_per_second"],
        sum(int(dropped) for kind, dropped, _ in qdiscs if kind == "etf"),
        sum(int(late) for kind, _, late in qdiscs if kind == "etf"),
        _of_tcp(result, "TCPTimeouts"),
        end.get("sum_sent", {}).get("retransmits", 0),
    )


def measure(
    family: str, way: str, rate_bps: int, frames: int, load: str = "tcp", load_s: int = 1
) -> Outcome:
    return outcome(checked(lambda: run(family, way, rate_bps, frames, load, load_s)))


def share_bps(rate_bps: int, load: str) -> float:
    """What whole slots of TC2's window carry of a load's payload."""
    payload_bytes = MTU_BYTES - HEADERS_BYTES[load]
    return LOAD_TIME * rate_bps * payload_bytes / (SLOT_BYTES + GAP_BYTES)


def write_table(name: str, lines: list[str]) -> None:
    """Into out/measured."""
    print("\n".join(lines))
    folder = checkout_root() / "out" / "measured"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
