# SPDX-License-Identifier: BSD-3-Clause
"""A planned station as words of `ip link` and commands of `tc`, wherever it runs: in a guest, on a
machine of its own, or on this one.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keepon.machines.queues import Queues, is_behind_etf, queues_of
from keepon.model.driverfields import driver_fields, link_words
from keepon.model.hosts import etf_delta_ns
from keepon.model.plan import Plan, PlannedStation
from keepon.model.qdiscs.words import commands
from keepon.model.scenario import Scenario, Station, Stream
from keepon.model.spans import planned_spans
from keepon.model.wire import TAGGED_HEADER_BYTES

SECOND_NS = 1_000_000_000
IPV4_MTU_MIN, ETHERNET_MTU = 68, 1500


def linked_stations(scenario: Scenario) -> list[str]:
    """Stations that have a link; the others have no NIC."""
    ends = {end for link in scenario.link for end in link.ends}
    return [station.name for station in scenario.station if station.name in ends]


@dataclass(frozen=True)
class Guest:
    """Names in the guest: the scenario's own for namespaces, short ones for interfaces (15
    characters).
    """

    scenario: Scenario
    plan: Plan
    run: str

    @property
    def target(self) -> str:
        """As messages call it."""
        return "vm"

    @property
    def receives(self) -> str:
        """Option `receive` of keepon links: programs of a run listen on them."""
        return "all"

    def namespace(self, station: str) -> str:
        return station

    def index(self, station: str) -> int:
        return next(
            number for number, entry in enumerate(self.scenario.station) if entry.name == station
        )

    def nic(self, station: str) -> str:
        return f"n{self.index(station)}"

    def device(self, station: str) -> str:
        """What applications use: the keepon device, or the NIC itself."""
        return f"rt{self.index(station)}" if self.driver(station) == "keepon" else self.nic(station)

    def driver(self, station: str) -> str:
        return self.scenario.driver_of(self.scenario.station_named(station), self.run)

    def queues(self, station: str) -> Queues:
        """Queues of what applications use, and priorities that lead to them."""
        entry = self.scenario.station_named(station)
        return queues_of(self.scenario, entry, self.driver(station))

    def mtu(self, station: Station) -> int | None:
        """What slots of the class carry that frames without a priority have, one a frame or several
        in a row; None: they have none, or the station has no keepon device.
        """
        if self.driver(station.name) != "keepon":
            return None
        return mtu_of(self.scenario, station, self.plan["stations"][station.name])

    def mac(self, station: str) -> str:
        return f"02:4b:50:00:00:{self.index(station):02x}"

    def address(self, station: str) -> str:
        return f"10.75.80.{self.index(station) + 1}"

    def bridge(self, name: str) -> str:
        return f"b{[entry.name for entry in self.scenario.bridge].index(name)}"

    @property
    def talkers(self) -> list[str]:
        talking = {stream.talker for stream in self.scenario.stream}
        return [station.name for station in self.scenario.station if station.name in talking]

    @property
    def linked(self) -> list[str]:
        return linked_stations(self.scenario)

    @property
    def listeners(self) -> list[str]:
        listening = {listener for stream in self.scenario.stream for listener in stream.listeners}
        return [station.name for station in self.scenario.station if station.name in listening]

    @property
    def cycle_ns(self) -> int:
        return math.lcm(*(stream.cycle_ns for stream in self.scenario.stream))

    def frames(self, stream: Stream) -> int:
        return math.ceil(
            (self.scenario.warmup_s + self.scenario.duration_s) * SECOND_NS / stream.period_ns
        )


def mtu_of(scenario: Scenario, station: Station, planned: PlannedStation) -> int | None:
    """The MTU of a keepon device on a port, with room for a tag: what slots of the class carry to
    which frames without a priority go. None: the class has none.
    """
    queue = queues_of(scenario, station, "keepon").map[0]
    if not any(mask >> queue & 1 for mask in planned.get("allowed", ())):
        return None
    single_bytes = planned_spans(station, planned).single_bytes
    entry = planned["classes"].get(str(queue))
    several_bytes = entry.get("frame_bytes_max", 0) if entry is not None else 0
    return max(single_bytes, several_bytes) - TAGGED_HEADER_BYTES


def slot_list(slots: list[int]) -> str:
    """Slots as `ip link` reads them: ranges, and steps where three or more follow each other
    evenly.
    """
    terms: list[str] = []
    position = 0
    while position < len(slots):
        step = slots[position + 1] - slots[position] if position + 1 < len(slots) else 0
        end = position + 1
        while end < len(slots) and slots[end] - slots[end - 1] == step:
            end += 1
        if end - position >= 3 or (end - position == 2 and step == 1):
            terms.append(f"{slots[position]}-{slots[end - 1]}" + (f"/{step}" if step > 1 else ""))
            position = end
        else:
            terms.append(str(slots[position]))
            position += 1
    return ",".join(terms) or "none"


def _priorities(guest: Guest, station: Station) -> list[str]:
    """Whether frames of the card without a txtime have priorities of their own: PTP's, a load's."""
    queues = guest.queues(station.name)
    apart = queues.ptp_priority is not None or queues.load_priority
    return ["priorities", "on"] if apart else []


def link_options(guest: Guest, station: Station) -> list[str]:
    """Options of `keepon link add` as planned."""
    planned = guest.plan["stations"][station.name]
    mtu = guest.mtu(station)
    words: list[Any] = [
        *(["mtu", mtu] if mtu is not None and mtu >= IPV4_MTU_MIN else []),
        *link_words(driver_fields(station, planned)),
        "partition", len(planned["allowed"]), "txtime", "phc",
        *(["receive", "all"] if guest.receives == "all" else _priorities(guest, station)),
    ]  # fmt: skip
    if "0" not in planned["classes"]:
        words += ["class", 0, "slots", "none"]  # or it would get what no class has
    for tc, entry in sorted(planned["classes"].items(), key=lambda item: int(item[0])):
        slots = [slot for slot, mask in enumerate(planned["allowed"]) if mask >> int(tc) & 1]
        words += [
            "class",
            tc,
            "slots",
            slot_list(slots),
            "late",
            entry["late"],
            "round",
            entry["round"],
        ]
    return [str(word) for word in words]


def _own_commands(guest: Guest, station: Station, text: str) -> Iterator[str]:
    """The commands of the scenario, for the device that the station has here."""
    for words in commands(text, "qdisc"):
        texts = [word.text for word in words]
        texts[texts.index("dev") + 1] = guest.device(station.name)
        yield f"tc -n {shlex.quote(guest.namespace(station.name))} {shlex.join(texts[1:])}"


def queue_commands(guest: Guest, station: Station) -> Iterator[str]:
    """mqprio with a queue per class; etf in front where the scenario releases by it.

    A keepon device without mqprio has everything in class 0, PTP and best effort, too.
    """
    if station.qdisc is not None:
        yield from _own_commands(guest, station, station.qdisc)
        return
    driver = guest.driver(station.name)
    queues = guest.queues(station.name)
    talks = any(entry.talker == station.name for entry in guest.scenario.load) or queues.of_class
    if not talks and driver != "keepon":
        return
    chosen = " ".join(map(str, queues.map))
    numbers = " ".join(f"1@{queue}" for queue in range(queues.count))
    tc = f"tc -n {shlex.quote(guest.namespace(station.name))}"
    device = guest.device(station.name)
    yield (
        f"{tc} qdisc add dev {device} root handle 100: mqprio num_tc {queues.count} map {chosen}"
        f" queues {numbers} hw 0"
    )
    if not is_behind_etf(station, driver):
        return
    delta_ns = etf_delta_ns(station)
    offload = " offload" if driver == "launchtime" else ""
    for queue in sorted(queues.of_class.values()):
        yield (  # tc reads the numbers of classes in hexadecimal
            f"{tc} qdisc replace dev {device} parent 100:{queue + 1:x} "
            f"etf clockid CLOCK_TAI delta {delta_ns}{offload} skip_sock_check"
        )
