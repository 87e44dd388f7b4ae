# SPDX-License-Identifier: BSD-3-Clause
"""What a run on this machine is to do, as plain values that fit a JSON file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

BASE, MAC, OUT = "@base", "@mac", "@out/"
"""In command lines: the start of the first cycle, the listener's address, the folder of results.
They are known only when the run is about to begin.
"""
ASSUMED = "assumed"


@dataclass(frozen=True)
class StationJob:
    """A station on an interface.

    Attributes:
        name: of the station.
        interface: that of the machine.
        home: namespace that the interface is in; "": that of the command.
        namespace: where the station runs.
        device: what programs use: the interface, or the keepon link on it.
        link: options of the keepon link; None: there is none.
        queues: words of `tc` for each queueing discipline.
        address: IP address with length of its net, for loads; "": none.
        ptp4l: configuration of its ptp4l; "": none runs.
        leads: its clock is the grandmaster's.
    """

    name: str
    interface: str
    home: str
    namespace: str
    device: str
    link: list[str] | None
    queues: list[list[str]]
    address: str
    ptp4l: str
    leads: bool

    @property
    def own_namespace(self) -> bool:
        """The namespace is made for the run."""
        return self.namespace != self.home


@dataclass(frozen=True)
class ProgramJob:
    """A program of the run: a talker (`name` is its stream), listener (station) or load.

    Attributes:
        listener: station whose address `MAC` stands for.
        server: of a load: words and station of its other side.
    """

    name: str
    station: str
    words: list[str]
    listener: str = ""
    server: tuple[str, list[str]] | None = None


@dataclass(frozen=True)
class Job:
    """A whole run.

    Attributes:
        sync: "set": clocks are set from CLOCK_TAI; "ptp": the leader's is, and PTP sets the others;
            "keep": nobody is started; "free": clocks need not agree; "assumed": those of several
            machines agree to within the limit, which is not looked at.
        clock_limit_ns: how far they may disagree; None: as far as they like.
        clock_wait_s: how long to wait until they agree.
        cycle_ns: the first frame's cycle begins at a multiple of this.
        total_ns: from then to the last txtime.
        drain_ns: and until everything has arrived.
    """

    stations: list[StationJob]
    talkers: list[ProgramJob]
    listeners: list[ProgramJob]
    loads: list[ProgramJob]
    sync: str
    clock_limit_ns: int | None
    clock_wait_s: float
    cycle_ns: int
    total_ns: int
    drain_ns: int

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Job:
        raw: dict[str, Any] = json.loads(text)
        raw["stations"] = [StationJob(**entry) for entry in raw["stations"]]
        for kind in ("talkers", "listeners", "loads"):
            raw[kind] = [ProgramJob(**entry) for entry in raw[kind]]
        return Job(**raw)
