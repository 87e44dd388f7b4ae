# SPDX-License-Identifier: BSD-3-Clause
"""Which interface is which station, and what a run of a plan is to do there."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, field
from typing import Final

from keepon_host.testbed.job import BASE, MAC, OUT, Job, ProgramJob, StationJob
from keepon_host.testbed.session import LEAD_S

from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.machines.planned import SECOND_NS, Guest, link_options, linked_stations, queue_commands
from keepon.machines.ptpconfig import config
from keepon.machines.traffic import LOAD_SERVER, delays_of, listen_words, load_words, talk_words
from keepon.measure.due import allowed_ns
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario

DRAIN_S = 0.1
CLOCK_LIMIT_NS_MIN = 1_000
CLOCK_WAIT_S: Final = 60.0


@dataclass(frozen=True)
class Place:
    """An interface; `namespace` "": that of the command."""

    namespace: str
    interface: str


def parse_map(entries: list[str]) -> dict[str, Place]:
    """Station -> interface of `--map station=iface` and `--map station=netns/iface`.

    Raises:
        ConfigError: one is not of that form, or a station or an interface is there twice.
    """
    places: dict[str, Place] = {}
    for entry in entries:
        station, equals, rest = entry.partition("=")
        namespace, slash, interface = rest.rpartition("/")
        if not (station and equals and interface) or (slash and not namespace):
            raise ConfigError(
                f'option --map = "{entry}": must be station=interface or'
                " station=namespace/interface"
            )
        if station in places:
            raise ConfigError(
                f'option --map = "{entry}": station "{station}" has an interface already; give each'
                " one"
            )
        place = Place(namespace, interface)
        for other, its in places.items():
            if its == place:
                raise ConfigError(
                    f'option --map = "{entry}": {rest} is the interface of station "{other}"'
                    " already; each station needs its own"
                )
            if namespace and its.namespace == namespace:
                raise ConfigError(
                    f'option --map = "{entry}": station "{other}" is in namespace {namespace}'
                    " already; each station needs its own"
                )
        places[station] = place
    return places


@dataclass(frozen=True)
class Host(Guest):
    """Names on this machine."""

    places: dict[str, Place] = field(default_factory=dict)
    keepon_links: frozenset[str] = frozenset()
    """Stations whose interface is a keepon link before the run."""

    def is_keepon(self, station: str) -> bool:
        """Its stamps are those of a keepon link."""
        return station in self.keepon_links or self.driver(station) == "keepon"

    @property
    def target(self) -> str:
        return "host"

    def namespace(self, station: str) -> str:
        return self.places[station].namespace or f"keepon-{station}"

    def nic(self, station: str) -> str:
        return self.places[station].interface

    def mac(self, station: str) -> str:
        return MAC


def check_places(scenario: Scenario, places: dict[str, Place]) -> None:
    """Every station that has a link needs an interface, and nobody else has one.

    Raises:
        ConfigError: one sentence on the first that does not fit.
    """
    linked = linked_stations(scenario)
    if not places:
        raise ConfigError(
            "option --map: is missing; target host needs the interface of every station, as"
            f" {' '.join(f'--map {name}=IFACE' for name in linked)}"
        )
    for name in places:
        if name not in linked:
            raise ConfigError(
                f'option --map = "{name}=...": the scenario has no station "{name}" with a link;'
                f" it has {', '.join(linked)}"
            )
    for name in linked:
        if name not in places:
            raise ConfigError(
                f'option --map: station "{name}" has no interface; add --map {name}=IFACE'
            )


def clock_limit_ns(scenario: Scenario, plan: Plan) -> int | None:
    """How far clocks may disagree if nobody says: a tenth of the shortest deadline, or of the
    shortest bound of a delay where there is none, and 1 us at least; None: they run free.
    """
    if scenario.sync.mode == "none":
        return None
    limits_ns = [
        stream.deadline_ns or plan["streams"][stream.id]["bounds"]["delay_ns"] or 0
        for stream in scenario.stream
    ]
    return max(CLOCK_LIMIT_NS_MIN, min((each for each in limits_ns if each), default=0) // 10)


def check_loads(scenario: Scenario) -> None:
    """Whether there is what sends loads.

    Raises:
        EnvironmentProblemError: there is not.
    """
    if scenario.load and shutil.which("iperf3") is None:
        raise EnvironmentProblemError(
            f"load {scenario.load[0].id} is sent by iperf3, which is not installed; apt install"
            " iperf3, or leave [[load]] out"
        )


def job_of(
    host: Host, limit_ns: int | None, wait_s: float, keep_clocks: bool, programs: dict[str, str]
) -> Job:
    """What a run is to do.

    Args:
        host: scenario, plan, driver and interfaces.
        limit_ns: how far clocks may disagree; None: as far as they like.
        wait_s: how long to wait until they agree.
        keep_clocks: another program sets them.
        programs: where our own are, by name; others are looked for by the system.
    """
    scenario, plan = host.scenario, host.plan
    total_s = scenario.warmup_s + scenario.duration_s
    drain_s = max(DRAIN_S, allowed_ns(scenario, plan) / SECOND_NS)
    # The first frame's cycle may begin a whole one after the lead.
    lead_s = LEAD_S + host.cycle_ns / SECOND_NS
    lasting_s = lead_s + total_s + drain_s + 1

    def known(words: list[str]) -> list[str]:
        return [programs.get(words[0], words[0]), *words[1:]]

    talkers = [
        ProgramJob(
            stream.id, stream.talker,
            known(talk_words(
                host, stream, delays_of(host, stream), BASE, MAC, f"{OUT}talk-{stream.id}.json"
            )),
            listener=stream.listeners[0],
        )
        for stream in scenario.stream
    ]  # fmt: skip
    listeners = [
        ProgramJob(
            name, name, known(listen_words(host, name, lasting_s, f"{OUT}listen-{name}.json"))
        )
        for name in host.listeners
    ]
    loads = [
        ProgramJob(
            load.id, load.talker, load_words(host, load, lead_s + total_s),
            server=(load.listener, LOAD_SERVER),
        )
        for load in scenario.load
    ]  # fmt: skip
    modes = {"none": "free", "ideal": "set", "ptp": "ptp", "gptp": "ptp"}
    return Job(
        stations=[_station(host, name, keep_clocks) for name in host.linked],
        talkers=talkers,
        listeners=listeners,
        loads=loads,
        sync="keep" if keep_clocks else modes[scenario.sync.mode],
        clock_limit_ns=limit_ns,
        clock_wait_s=wait_s,
        cycle_ns=host.cycle_ns,
        total_ns=round(total_s * SECOND_NS),
        drain_ns=round(drain_s * SECOND_NS),
    )


def _station(host: Host, name: str, keep_clocks: bool) -> StationJob:
    scenario = host.scenario
    entry = scenario.station_named(name)
    is_keepon = host.driver(name) == "keepon"
    sync = scenario.sync
    ptp4l = ""
    if sync.by_ptp and not keep_clocks:
        priority = host.queues(name).ptp_priority
        ptp4l = config(scenario, name, [host.device(name)], priority, entry if is_keepon else None)
    loaded = any(name in (load.talker, load.listener) for load in scenario.load)
    needs_ip = loaded or "UDPv4" in ptp4l
    return StationJob(
        name=name,
        interface=host.nic(name),
        home=host.places[name].namespace,
        namespace=host.namespace(name),
        device=host.device(name),
        link=link_options(host, entry) if is_keepon else None,
        # Words of `tc -n NAMESPACE`, which is added where they run.
        queues=[shlex.split(line)[3:] for line in queue_commands(host, entry)],
        address=f"{host.address(name)}/24" if needs_ip else "",
        ptp4l=ptp4l,
        leads=name == sync.grandmaster,
    )
