# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of what sends and receives in a run: keepon-talk, keepon-listen, iperf3.

Words only. Where they run, and who waits for them, is the business of a target.
"""

from __future__ import annotations

import math

from keepon.errors import ConfigError
from keepon.machines.planned import SECOND_NS, Guest
from keepon.machines.queues import TOS
from keepon.model.scenario import Load, Stream

GROUP = "03:00:4b:50:4e:01"
"""Where frames of a stream with several listeners go."""


def talk_words(
    guest: Guest, stream: Stream, delays: list[str], base: str, target: str, out: str
) -> list[str]:
    """The talker of a stream.

    Args:
        guest: names and plan.
        stream: of the scenario.
        delays: what `delays_of` says of it.
        base: `--base-time`.
        target: address of its listener, if it has one only.
        out: its result file.

    Raises:
        ConfigError: its plan is one that keepon-talk cannot follow.
    """
    entry = guest.plan["streams"][stream.id]
    if "turns_ns" in entry:
        key = "jitter_ns" if stream.turns == 1 else "rate_hz"
        raise ConfigError(
            f'key `stream[{guest.scenario.stream.index(stream)}].{key}` (stream "{stream.id}")'
            f" = {getattr(stream, key)}: its plan releases frames in turn at other offsets,"
            f" which the talker of target {guest.target} cannot; leave the key out or use target"
            " sim"
        )
    station = guest.scenario.station_named(stream.talker)
    level = guest.queues(stream.talker).priority[stream.tc, stream.priority]
    count = str(guest.frames(stream))
    words = [
        "keepon-talk", guest.device(stream.talker), "--stream", stream.id,
        "--period", str(stream.period_ns), "--base-time", base,
        "--offset", str(entry["release_ns"]), "--advance", str(stream.advance_ns),
        "--count", count, "--size", str(stream.frame_bytes),
        "--dst", target if len(stream.listeners) == 1 else GROUP,
        "--priority", str(level), "--pcp", str(stream.priority), "--fifo", "80",
        "--records", count, "--json", out,
    ]  # fmt: skip
    if guest.driver(stream.talker) == "keepon":
        words.append("--hw-stamps")
    if station.release == "sleep":
        words.append("--no-txtime")
    for delay in delays:
        words += ["--delay", delay]
    return words


def listen_words(guest: Guest, station: str, seconds: float, out: str) -> list[str]:
    """The listener of a station, for all streams that it has."""
    frames = sum(
        guest.frames(stream) for stream in guest.scenario.stream if station in stream.listeners
    )
    return [
        "keepon-listen", guest.device(station), "--duration", f"{round(seconds * 1000)}ms",
        "--records", str(frames + 16), "--json", out,
    ]  # fmt: skip


LOAD_SERVER = ["iperf3", "--server", "--one-off"]


def load_words(guest: Guest, load: Load, seconds: float) -> list[str]:
    """The client of a load between two stations; `saturate` is UDP at the rate of the link. It
    prints its report.
    """
    words = ["iperf3", "--client", guest.address(load.listener), "--time", str(math.ceil(seconds))]
    if load.kind == "tcp":
        words += ["--congestion", load.congestion]
    else:
        words += ["--udp", "--bitrate", str(load.rate_bps), "--length", str(load.frame_bytes - 46)]
    level = guest.queues(load.talker).load_priority.get(load.tc)
    if level is not None:
        words += ["--tos", str(TOS[level])]
    return [*words, "--json"]


def delays_of(guest: Guest, stream: Stream) -> list[str]:
    """`late-submit` faults of a talker: the next frame of its first stream is handed over that much
    later.
    """
    first = next(entry for entry in guest.scenario.stream if entry.talker == stream.talker)
    if stream is not first:
        return []
    release_ns = guest.plan["streams"][stream.id]["release_ns"]
    first_ns = release_ns - stream.advance_ns
    return [
        f"{max(0, math.ceil((fault.at_s * SECOND_NS - first_ns) / stream.period_ns))}"
        f"={fault.value_ns}"
        for fault in guest.scenario.fault
        if fault.kind == "late-submit" and fault.node == stream.talker
    ]
