# SPDX-License-Identifier: BSD-3-Clause
"""Whether the qdiscs of a station with launch times hand its NIC the times of its frames, read from
the words of their commands.
"""

from __future__ import annotations

from itertools import pairwise

from keepon.model.scenario import Station, Stream
from keepon.planner.checker.given import Given


def keeps_times(given: Given, station: Station) -> bool:
    """All its streams pass an etf that is offloaded, or none: any other leaves the NIC without
    their times.
    """
    if station.qdisc is None:
        return True
    commands = [line.split() for line in station.qdisc.replace("\\\n", " ").splitlines()]
    streams = [stream for stream in given.streams.values() if stream.talker == station.name]
    return all({"etf", "offload"} <= set(_leaf(commands, stream.tc)) for stream in streams)


def keeps_windows(given: Given, stream: Stream) -> bool:
    """No best effort leaves by the port of a stream with launch times behind txtime-assist, which
    counts its frames too short for the launch times it gives them.
    """
    station, place = given.scenario.station_named(stream.talker), given.leaves[stream.id]
    words = (station.qdisc or "").split()
    flags = [int(value, 0) for word, value in pairwise(words) if word == "flags"]
    return 1 not in flags or all((way[0], way[1]) != place for _, way in given.best_effort)


def _leaf(commands: list[list[str]], tc: int) -> list[str]:
    """Words of the last command that put the qdisc of a class there; none where Linux chose it.

    A command takes the place of an earlier one. Class `tc` has queue `offset` of
    `queues count@offset ...`, which is child offset + 1, in hexadecimal.
    """
    at = max(index for index, words in enumerate(commands) if "root" in words)
    root, children = commands[at], commands[at + 1 :]
    if "queues" not in root:
        return root
    offset = int(root[root.index("queues") + 1 + tc].split("@")[1])
    for words in reversed(children):
        parent = words[words.index("parent") + 1] if "parent" in words else ""
        child = parent.partition(":")[2]
        if child and int(child, 16) == offset + 1:
            return words
    return []
