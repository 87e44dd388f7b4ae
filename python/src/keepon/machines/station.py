# SPDX-License-Identifier: BSD-3-Clause
"""A plan's station as the steps that make a machine of it: card, keepon device, queues, VLAN,
clocks.

A station gets what target vm gives it (keepon.machines.network), on real devices.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from keepon_host.start import steps
from keepon_host.start.steps import Need, Setup, Step, Told

from keepon.errors import ConfigError
from keepon.machines import ptpconfig
from keepon.machines.planned import ETHERNET_MTU, Guest, link_options, queue_commands
from keepon.machines.queues import TOS
from keepon.model.hosts import etf_delta_ns
from keepon.model.qdiscs.stations import by_timers, check_put_to_up, tree_of
from keepon.model.scenario import Station
from keepon.model.topology import Topology

# Of a frame: addresses and type, FCS.
HEADER_BYTES, FCS_BYTES = 14, 4
DEVICE_NAME_MAX = 15


def vlan_name(device: str) -> str:
    """What the VLAN device on another one is called."""
    return f"{device[: DEVICE_NAME_MAX - 2]}.0"


@dataclass(frozen=True)
class Machine(Guest):
    """A station that is a machine of its own: every one has the same device names."""

    device_name: str = "eth0"
    keepon_name: str = "rt0"

    def nic(self, station: str) -> str:
        return self.device_name

    def device(self, station: str) -> str:
        return self.keepon_name if self.driver(station) == "keepon" else self.device_name

    @property
    def receives(self) -> str:
        """What arrives stays the card's, whose PTP and programs go on."""
        return "card"

    def vlan(self, station: str) -> str:
        """The device that tags frames with a priority."""
        return vlan_name(self.device(station))

    def talks(self, station: str) -> bool:
        return station in self.talkers


def stream_lines(machine: Machine, station: Station) -> Iterator[str]:
    """When and how the station's programs send each of its streams."""
    priority = machine.queues(station.name).priority
    for stream in machine.scenario.stream:
        if stream.talker == station.name:
            entry = machine.plan["streams"][stream.id]
            releases = entry.get("turns_ns", [entry["release_ns"]])
            times = " ns, in turn ".join(str(release_ns) for release_ns in releases)
            level = priority[stream.tc, stream.priority]
            rounded = ", rounded down," if stream.turns > 1 else ""
            period = f"{Fraction(stream.cycle_ns, stream.turns)} ns{rounded}"
            yield (
                f"stream {stream.id}: txtime {times} ns after every multiple of {period}"
                f" of CLOCK_TAI, SO_PRIORITY {level}, PCP {stream.priority}"
            )


def _programs(machine: Machine, station: Station) -> list[str]:
    programs = ["ip", "tc", "ethtool"]
    if machine.scenario.sync.by_ptp:
        programs.append("ptp4l")
    if machine.scenario.sync.by_ptp or machine.talks(station.name):
        programs.append("phc2sys")
    return programs


def _needs(machine: Machine, station: Station, qdiscs: list[str]) -> Iterator[Need]:
    """`qdiscs`: queueing disciplines that are set."""
    nic, device = machine.nic(station.name), machine.device(station.name)
    driver, queues = machine.driver(station.name), machine.queues(station.name)
    yield from (steps.Program(name) for name in _programs(machine, station))
    if machine.talks(station.name):
        vlan = machine.vlan(station.name)
        yield steps.Free(
            vlan, f"take it away with ip link del {vlan}, or export with another device name"
        )
    if driver == "keepon":
        yield steps.Free(device, f"take it away with ip link del {device}")
        yield steps.LinkType()
        return
    if not {"mqprio", "taprio"}.isdisjoint(qdiscs):
        yield steps.Queues(
            nic,
            max(steps.MULTIQUEUE_MIN, queues.count),
            "one for each class of streams and one for everything else, which would delay streams"
            " in a queue of theirs; take another card, or driver keepon, which needs one queue",
        )
    if driver == "launchtime":
        yield steps.Clock(nic, "which launch times need; take another card, or driver keepon")


def _link(machine: Machine, station: Station) -> Iterator[Step]:
    nic, device = machine.nic(station.name), machine.device(station.name)
    (port,) = Topology(machine.scenario).ports_of(station.name)
    yield from without_disturbers(nic)
    yield steps.Linked(nic, port.wire.rate_bps // 1_000_000)
    if device == nic:
        return
    mtu = machine.mtu(station)
    if mtu is not None and mtu < ETHERNET_MTU:
        yield Told(f"Slots carry {nic}'s own frames up to MTU {mtu}; longer ones are dropped.")
    if station.keepon.backend == "generic":
        yield steps.Module("keepon_generic")
    yield steps.AddKeepon(nic, device, tuple(link_options(machine, station)))
    yield steps.SetUp(device)


def without_disturbers(device: str) -> Iterator[Step]:
    """What may stop a wire at an instant that nobody planned."""
    yield Told("A PAUSE frame of the other end would hold back frames whose time has come.")
    yield steps.PauseOff(device)
    yield Told("Energy-efficient Ethernet sleeps between frames and takes many us to wake up.")
    yield steps.EeeOff(device)


def _queues(machine: Machine, station: Station) -> Iterator[Step]:
    index = [each.name for each in machine.scenario.station].index(station.name)
    check_put_to_up(f"key `station[{index}]", station)
    queues, driver = machine.queues(station.name), machine.driver(station.name)
    namespaced = f"tc -n {shlex.quote(station.name)} "
    commands = [f"tc {line.removeprefix(namespaced)}" for line in queue_commands(machine, station)]
    if not commands:
        return
    named = [
        f"class {tc} by SO_PRIORITY {level} in queue {queues.of_class[tc]}"
        for (tc, _), level in queues.priority.items()
    ]
    named += [
        f"loads of class {tc} by SO_PRIORITY {level} (type of service {TOS[level]:#04x}) in queue"
        f" {queues.map[level]}"
        for tc, level in queues.load_priority.items()
    ]
    if queues.ptp_priority is not None:
        named.append(f"PTP by {queues.ptp_priority} in queue {queues.map[queues.ptp_priority]}")
    yield Told(f"{'; '.join([*named, f'everything else in queue {queues.best_effort}'])}.")
    if driver == "keepon":
        slots = machine.plan["stations"][station.name]["allowed"]
        if not any(mask >> queues.best_effort & 1 for mask in slots):
            yield Told("The plan has no slots for everything else: it is dropped.")
    tree = tree_of(station)
    if tree is not None and by_timers(tree):
        yield Told("Gates of the CPU's timers stop for good when the link goes down; nothing here")
        yield Told("gives them again when it comes back: let a hook of your network manager do it.")
    device = machine.device(station.name)
    root, *leaves = (tuple(shlex.split(line)) for line in commands)
    yield steps.RootQueues(device, root)
    yield from (steps.LeafQueues(device, words) for words in leaves)
    if driver == "launchtime":
        yield from _queue_limits(machine, station)


def _queue_limits(machine: Machine, station: Station) -> Iterator[Step]:
    """Bytes that the stack may hand to a queue of a card with launch times, where frames stay until
    their time.
    """
    queues, delta_ns = machine.queues(station.name), etf_delta_ns(station)
    handed_over = dict.fromkeys(queues.of_class.values(), 0)
    for stream in machine.scenario.stream:
        if stream.talker == station.name:
            count = delta_ns // stream.period_ns + 2
            handed_over[queues.of_class[stream.tc]] += count * stream.frame_bytes
    if handed_over:
        yield Told(
            "A queue's limit on bytes is 0 until its first frame has left: one is in the card,"
        )
        yield Told(
            "and those behind it stay in etf until their time has passed. From then on it is"
        )
        yield Told(
            "what is written here. So send one frame of each class alone before the streams."
        )
    for queue, count_bytes in sorted(handed_over.items()):
        yield steps.QueueBytes(machine.nic(station.name), queue, count_bytes)


def _vlan(machine: Machine, station: Station) -> Iterator[Step]:
    if not machine.talks(station.name):
        return
    device, vlan = machine.device(station.name), machine.vlan(station.name)
    levels = machine.queues(station.name).priority.items()
    yield Told("Bridges sort frames by the PCP of their tag. Programs that write no tag themselves")
    yield Told(
        f"send by {vlan}: it makes a PCP of SO_PRIORITY; queue and txtime are as on {device}."
    )
    yield steps.AddVlan(device, vlan, tuple(f"{level}:{pcp}" for (_, pcp), level in levels))
    yield steps.SetUp(vlan)


def _clocks(machine: Machine, station: Station) -> Iterator[Step]:
    sync, name = machine.scenario.sync, station.name
    device, stamps = machine.device(name), "-H"
    talks = machine.talks(name)
    if machine.driver(name) == "standard":
        yield Told(
            "A card without a clock of its own has stamps of software, in the system's clock."
        )
        yield steps.ChooseStamps(device)
        stamps = "auto"
    if sync.by_ptp:
        yield Told(f"PTP sets the clock of {device}, as the plan takes for granted.")
        yield steps.Ptp4l(name, ptpconfig.config_name(name), stamps)
    elif talks:
        yield Told(
            f'sync.mode = "{sync.mode}": the plan has no PTP. What sets the clock of {device}'
        )
        yield Told("to the network's time is left to you; its messages are best effort.")
    if not sync.by_ptp and not talks:
        return
    yield Told(
        "A txtime is CLOCK_TAI: that must be the device's time, so let no other program set the"
    )
    yield Told("system's clock, and leave the kernel's TAI offset 0.")
    yield steps.Phc2sys(name, device, stamps)


def check_room(machine: Machine, station: Station) -> None:
    """Whether the card keeps a way for frames of its own.

    Raises:
        ConfigError: slots of the class that they have carry no MTU of Ethernet.
    """
    if machine.driver(station.name) != "keepon":
        return
    mtu = machine.mtu(station)
    if mtu is None or mtu < ETHERNET_MTU:
        carries = "nothing" if mtu is None else f"an MTU of {mtu}"
        raise ConfigError(
            f'station "{station.name}": slots that the plan leaves {machine.nic(station.name)} for'
            f" frames of its own carry {carries}, and it needs {ETHERNET_MTU}: state"
            " station.keepon.frame_bytes_max = 1522, or leave best effort more slots in a row"
        )


def setup(machine: Machine, station: Station) -> Setup:
    """All that makes a machine this station."""
    sync = machine.scenario.sync
    files = {ptpconfig.config_name(station.name): ptp_config(machine, station)}
    queues = tuple(_queues(machine, station))
    kinds = [
        steps.kind_of(step.words)
        for step in queues
        if isinstance(step, steps.RootQueues | steps.LeafQueues)
    ]
    return Setup(
        f"station {station.name} of scenario {machine.scenario.name}",
        machine.nic(station.name),
        machine.device(station.name),
        (
            *_needs(machine, station, kinds),
            *(steps.Scheduler(kind) for kind in dict.fromkeys(kinds)),
        ),
        (*_link(machine, station), *queues, *_vlan(machine, station), *_clocks(machine, station)),
        files if sync.by_ptp else {},
    )


def ptp_config(machine: Machine, station: Station) -> str:
    """ptp4l's configuration of a station."""
    return ptpconfig.config(
        machine.scenario,
        station.name,
        [machine.nic(station.name)],
        machine.queues(station.name).ptp_priority,
        station if machine.driver(station.name) == "keepon" else None,
    )
