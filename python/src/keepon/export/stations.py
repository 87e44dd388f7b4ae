# SPDX-License-Identifier: BSD-3-Clause
"""The script of a station: card, keepon device, queues, VLAN, clocks. It is set up whole, or left
as it was and told why.

A station gets what target vm gives it (keepon.linux.stations), on real devices.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from keepon.export import ptp, shell
from keepon.linux.stations import Guest, link_options, queue_commands
from keepon.model.hosts import etf_delta_ns
from keepon.model.scenario import Station
from keepon.model.topology import Topology

IPV6_MTU_MIN = 1280
# Of a frame: addresses and type, FCS, a VLAN tag.
HEADER_BYTES, FCS_BYTES, TAG_BYTES = 14, 4, 4
DEVICE_NAME_MAX = 15
_HAS_CLOCK = "ethtool -T {} | grep -q 'Hardware Clock: [0-9]'"


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

    def vlan(self, station: str) -> str:
        """The device that tags frames with a priority."""
        return vlan_name(self.device(station))

    def talks(self, station: str) -> bool:
        return station in self.talkers

    def mtu(self, station: Station) -> int | None:
        """The MTU a keepon device comes up with: slots carry no more. None: not a keepon device."""
        planned = self.plan["stations"][station.name]
        if "slot_bytes" not in planned or self.driver(station.name) != "keepon":
            return None
        trimmed = planned["mode"] != "paper" and station.keepon.trim == "any"
        longest = planned["slot_bytes"] - (station.keepon.trim_down_bytes if trimmed else 0)
        return longest - HEADER_BYTES - FCS_BYTES - TAG_BYTES


def mtu_note(machine: Machine) -> str | None:
    """What small slots mean for other traffic."""
    stations = [entry for entry in machine.scenario.station if entry.name in machine.linked]
    mtus = {entry.name: machine.mtu(entry) for entry in stations}
    small = {name: mtu for name, mtu in mtus.items() if mtu is not None and mtu < IPV6_MTU_MIN}
    if not small:
        return None
    told = ", ".join(f"{name} {mtu}" for name, mtu in small.items())
    return (
        f"{machine.keepon_name} comes up with an MTU of what its slots carry, too small for IPv6,"
        f" which needs {IPV6_MTU_MIN}: {told}; longer slot_bytes in the scenario raise it"
    )


def first_frames_note(machine: Machine) -> str | None:
    """What the first frames of a card with launch times need."""
    names = [
        entry.name
        for entry in machine.scenario.station
        if machine.talks(entry.name) and machine.driver(entry.name) == "launchtime"
    ]
    if not names:
        return None
    return (
        f"{', '.join(names)}: a queue of a card with launch times takes a second frame only when"
        " its first one has left, because byte queue limits begin at 0; send one frame of each"
        " class alone before the streams, or their first frames may be lost"
    )


def _streams(machine: Machine, station: Station) -> Iterator[str]:
    priority = machine.queues(station.name).priority
    for stream in machine.scenario.stream:
        if stream.talker == station.name:
            entry = machine.plan["streams"][stream.id]
            releases = entry.get("turns_ns", [entry["release_ns"]])
            told = " ns, in turn ".join(str(release_ns) for release_ns in releases)
            level = priority[stream.tc, stream.priority]
            yield (
                f"# stream {stream.id}: txtime {told} ns after every multiple of {stream.period_ns}"
                f" ns of CLOCK_TAI, SO_PRIORITY {level}, PCP {stream.priority}"
            )


def _programs(machine: Machine, station: Station) -> list[str]:
    programs = ["ip", "tc", "ethtool"]
    if machine.scenario.sync.by_ptp:
        programs.append("ptp4l")
    if machine.scenario.sync.by_ptp or machine.talks(station.name):
        programs.append("phc2sys")
    return programs


def _checks(machine: Machine, station: Station) -> Iterator[str]:
    nic, device = machine.nic(station.name), machine.device(station.name)
    driver, queues = machine.driver(station.name), machine.queues(station.name)
    yield "# Nothing is changed before all that is needed is there."
    yield from shell.needs(_programs(machine, station), [nic])
    if machine.talks(station.name):
        vlan = machine.vlan(station.name)
        yield (
            f'[ ! -e /sys/class/net/{vlan} ] || stop "{vlan} is there already: take it away with ip'
            f' link del {vlan}, or export with another device name"'
        )
    if driver == "keepon":
        yield (
            f'[ ! -e /sys/class/net/{device} ] || stop "{device} is there already: take it away'
            f' with ip link del {device}"'
        )
        yield (
            'ip link help keepon 2>&1 | grep -q slot_bytes || stop "ip knows no links of type'
            ' keepon: build its plugin with kernel/plugin/build, see docs/kernel.md"'
        )
        return
    if machine.talks(station.name):
        yield shell.needs_queues(
            nic,
            queues.count,
            "one for each class of streams and one for everything else, which would delay streams"
            " in a queue of theirs; take another card, or driver keepon, which needs one queue",
        )
    if driver == "launchtime":
        yield (
            f'{_HAS_CLOCK.format(nic)} || stop "{nic} has no PTP hardware clock, which launch times'
            ' need; take another card, or driver keepon"'
        )


def _link(machine: Machine, station: Station) -> Iterator[str]:
    nic, device = machine.nic(station.name), machine.device(station.name)
    wire = Topology(machine.scenario).station_wire(station.name)
    assert wire is not None, "an export has no stations without a link"
    yield from shell.without_disturbers(nic)
    yield f"linked {nic} {wire.rate_bps // 1_000_000}"
    if device == nic:
        return
    options = " ".join(link_options(machine, station))
    mtu = machine.mtu(station)
    if mtu is not None and mtu < IPV6_MTU_MIN:
        yield f"# {device} comes up with MTU {mtu}, what a slot carries: IPv6 needs {IPV6_MTU_MIN}."
    yield f"ip link add link {nic} name {device} type keepon {options}"
    yield f"ip link set dev {device} up"


def _queues(machine: Machine, station: Station) -> Iterator[str]:
    queues, driver = machine.queues(station.name), machine.driver(station.name)
    namespaced = f"tc -n {shlex.quote(station.name)} "
    commands = [line.removeprefix(namespaced) for line in queue_commands(machine, station)]
    if not commands:
        return
    named = [
        f"class {tc} by SO_PRIORITY {level} in queue {queues.of_class[tc]}"
        for (tc, _), level in queues.priority.items()
    ]
    if queues.ptp_priority is not None:
        named.append(f"PTP by {queues.ptp_priority} in queue {queues.map[queues.ptp_priority]}")
    yield f"# {'; '.join([*named, f'everything else in queue {queues.best_effort}'])}."
    if driver == "keepon":
        slots = machine.plan["stations"][station.name]["allowed"]
        if not any(mask >> queues.best_effort & 1 for mask in slots):
            yield "# The plan has no slots for everything else: it is dropped."
    root, *leaves = commands
    yield f"tc {root}"
    yield shell.queues_set(machine.device(station.name))
    for line in leaves:
        yield f"tc {line}"
    if driver == "launchtime":
        yield from _queue_limits(machine, station)


def _queue_limits(machine: Machine, station: Station) -> Iterator[str]:
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
        yield "# A queue's limit on bytes is 0 until its first frame has left: one is in the card,"
        yield "# and those behind it stay in etf until their time has passed. From then on it is"
        yield "# what is written here. So send one frame of each class alone before the streams."
    for queue, count_bytes in sorted(handed_over.items()):
        nic = machine.nic(station.name)
        limit = f"/sys/class/net/{nic}/queues/tx-{queue}/byte_queue_limits/limit_min"
        yield f"[ ! -e {limit} ] || echo {count_bytes} > {limit}"


def _vlan(machine: Machine, station: Station) -> Iterator[str]:
    if not machine.talks(station.name):
        return
    device, vlan = machine.device(station.name), machine.vlan(station.name)
    levels = machine.queues(station.name).priority.items()
    pairs = " ".join(f"{level}:{pcp}" for (_, pcp), level in levels)
    yield "# Bridges sort frames by the PCP of their tag. Programs that write no tag themselves"
    yield f"# send by {vlan}: it makes a PCP of SO_PRIORITY; queue and txtime are as on {device}."
    yield f"ip link add link {device} name {vlan} type vlan id 0 egress-qos-map {pairs}"
    yield f"ip link set dev {vlan} up"


def _clocks(machine: Machine, station: Station) -> Iterator[str]:
    sync, name = machine.scenario.sync, station.name
    device, stamps = machine.device(name), "-H"
    talks = machine.talks(name)
    if machine.driver(name) == "standard":
        yield "# A card without a clock of its own has stamps of software, in the system's clock."
        yield "stamps=-H"
        yield f"{_HAS_CLOCK.format(device)} || stamps=-S"
        stamps = "$stamps"
    if sync.by_ptp:
        yield f"# PTP sets the clock of {device}, as the plan takes for granted."
        yield from ptp.start(name, stamps)
    elif talks:
        yield f'# sync.mode = "{sync.mode}": the plan has no PTP. What sets the clock of {device}'
        yield "# to the network's time is left to you; its messages are best effort."
    if not sync.by_ptp and not talks:
        return
    yield "# A txtime is CLOCK_TAI: that must be the device's time, so let no other program set the"
    yield "# system's clock, and leave the kernel's TAI offset 0."
    if stamps == "$stamps":
        yield 'if [ "$stamps" = -H ]; then'
        yield from ("\t" + line for line in ptp.follow(name, device))
        yield "fi"
    else:
        yield from ptp.follow(name, device)


def _undo(machine: Machine, station: Station) -> list[str]:
    device, vlan = machine.device(station.name), machine.vlan(station.name)
    undo = []
    if machine.talks(station.name):
        undo.append(f"ip link del {vlan} 2> /dev/null")
    if machine.driver(station.name) == "keepon":
        undo.append(f"ip link del {device} 2> /dev/null")
    return undo


def script(machine: Machine, station: Station) -> str:
    """The whole script."""
    lines = [
        "#!/bin/sh",
        f"# Station {station.name} of scenario {machine.scenario.name}, driver"
        f" {machine.driver(station.name)}; run as root.",
        *_streams(machine, station),
        shell.begin(),
        *_checks(machine, station),
        shell.helpers(_undo(machine, station)),
        *_link(machine, station),
        *_queues(machine, station),
        *_vlan(machine, station),
        *_clocks(machine, station),
        "finished=1",
    ]
    return "\n".join(lines) + "\n"


def ptp_config(machine: Machine, station: Station) -> str:
    """ptp4l's configuration of a station."""
    return ptp.config(
        machine.scenario,
        station.name,
        [machine.device(station.name)],
        machine.queues(station.name).ptp_priority,
        station if machine.driver(station.name) == "keepon" else None,
    )
