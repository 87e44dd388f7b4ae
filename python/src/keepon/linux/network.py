# SPDX-License-Identifier: BSD-3-Clause
"""A planned scenario as commands for a guest: hwsim NICs and bridges, namespaces, `ip link`, `tc`,
talkers, listeners.

Only text is made here. What the guest leaves behind is read by keepon.targets.vm.observations.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from keepon.errors import ConfigError
from keepon.linux.queues import Queues, queues_of
from keepon.measure.due import allowed_ns
from keepon.model.gates import ALL_GATES
from keepon.model.hosts import etf_delta_ns
from keepon.model.plan import Plan
from keepon.model.scenario import Fault, Load, Scenario, Station, Stream
from keepon.model.topology import Topology

HWSIM_MODES = {"keepon": "ring", "standard": "ordinary", "launchtime": "launchtime"}
SECOND_NS = 1_000_000_000
# From the last command before traffic to the first txtime, and at least from the last txtime until
# everything is counted.
LEAD_S = 2
DRAIN_S = 0.1
# What the wire of a talker keeps: its frames, and as many runs of placeholders between them.
RECORD_ENTRIES_MAX = 1 << 20


@dataclass(frozen=True)
class Guest:
    """Names in the guest: the scenario's own for namespaces, short ones for interfaces (15
    characters).
    """

    scenario: Scenario
    plan: Plan
    run: str

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
        """Stations that have a link; the others have no NIC."""
        ends = {end for link in self.scenario.link for end in link.ends}
        return [station.name for station in self.scenario.station if station.name in ends]

    @property
    def listeners(self) -> list[str]:
        listening = {listener for stream in self.scenario.stream for listener in stream.listeners}
        return [station.name for station in self.scenario.station if station.name in listening]

    @property
    def cycle_ns(self) -> int:
        return math.lcm(*(stream.period_ns for stream in self.scenario.stream))

    def frames(self, stream: Stream) -> int:
        return math.ceil(
            (self.scenario.warmup_s + self.scenario.duration_s) * SECOND_NS / stream.period_ns
        )


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


def link_options(guest: Guest, station: Station) -> list[str]:
    """Options of `ip link add ... type keepon` as planned."""
    planned = guest.plan["stations"][station.name]
    options = station.keepon
    paper = planned["mode"] == "paper"
    words: list[Any] = [
        "mode", planned["mode"], "slot_bytes", planned["slot_bytes"], "ring", planned["ring_slots"],
        "batch", planned["batch_slots"], "depth", planned["depth_slots"], "partition",
        len(planned["allowed"]),
        "prebuffer", options.prebuffer_frames, "clock", "counter" if paper else options.clock,
        "placeholder", planned["placeholder"], "poll_overhead_ns", planned["poll_overhead_ns"],
        "dither", "on" if options.dither else "off", "txtime", "phc",
    ]  # fmt: skip
    if not paper:
        words += [
            "trim",
            options.trim,
            "trim_down",
            options.trim_down_bytes,
            "trim_up",
            options.trim_up_bytes,
        ]
    if options.tolerance_ns != "auto":
        words += ["tolerance_ns", options.tolerance_ns]
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


def queue_commands(guest: Guest, station: Station) -> Iterator[str]:
    """mqprio with a queue per class; etf in front where the scenario releases by it.

    A keepon device without mqprio has everything in class 0, PTP and best effort, too.
    """
    driver = guest.driver(station.name)
    queues = guest.queues(station.name)
    talks = any(entry.talker == station.name for entry in guest.scenario.load) or queues.of_class
    if not talks and driver != "keepon":
        return
    chosen = " ".join(map(str, queues.map))
    numbers = " ".join(f"1@{queue}" for queue in range(queues.count))
    tc = f"tc -n {shlex.quote(station.name)}"
    device = guest.device(station.name)
    yield (
        f"{tc} qdisc add dev {device} root handle 100: mqprio num_tc {queues.count} map {chosen}"
        f" queues {numbers} hw 0"
    )
    release = "etf" if driver != "keepon" and station.release == "txtime" else station.release
    if release != "etf":
        return
    delta_ns = etf_delta_ns(station)
    offload = " offload" if driver == "launchtime" else ""
    for queue in sorted(queues.of_class.values()):
        yield (
            f"{tc} qdisc replace dev {device} parent 100:{queue + 1} "
            f"etf clockid CLOCK_TAI delta {delta_ns}{offload} skip_sock_check"
        )


def station_commands(
    guest: Guest, station: Station, wire_bps: int, shared_phc: str | None
) -> Iterator[str]:
    """One station: NIC, namespace, keepon device."""
    name, nic = shlex.quote(station.name), guest.nic(station.name)
    driver = guest.driver(station.name)
    clock = (
        f"phc={shared_phc}" if shared_phc is not None else f"ppb={round(station.clock_ppm * 1000)}"
    )
    mode = HWSIM_MODES[driver]
    yield (
        f"control nic {nic} mode={mode} rate_bps={wire_bps} mac={guest.mac(station.name)} {clock}"
        " queues=8"
    )
    yield f"ip netns add {name}"
    yield f"ip link set {nic} netns {name}"


def up_commands(guest: Guest, station: Station) -> Iterator[str]:
    name, nic, device = (
        shlex.quote(station.name),
        guest.nic(station.name),
        guest.device(station.name),
    )
    yield f"ip -n {name} link set {nic} up"
    if device != nic:
        options = " ".join(link_options(guest, station))
        yield f"ip -n {name} link add link {nic} name {device} type keepon {options}"
        yield f"ip -n {name} link set {device} up"
    yield f"ip -n {name} addr add {guest.address(station.name)}/24 dev {device}"
    yield from queue_commands(guest, station)


def talk_command(guest: Guest, stream: Stream, delays: list[str]) -> str:
    """The talker of a stream, in the background of the script; its process is kept in $talkers."""
    device = guest.device(stream.talker)
    entry = guest.plan["streams"][stream.id]
    if "turns_ns" in entry:
        raise ConfigError(
            f'key `stream[{guest.scenario.stream.index(stream)}].jitter_ns` (stream "{stream.id}")'
            f" = {stream.jitter_ns}: its plan releases frames in turn at other offsets, which the"
            " talker of target vm cannot; leave the key out or use target sim"
        )
    release_ns = entry["release_ns"]
    target = guest.mac(stream.listeners[0]) if len(stream.listeners) == 1 else "03:00:4b:50:4e:01"
    station = guest.scenario.station_named(stream.talker)
    level = guest.queues(stream.talker).priority[stream.tc, stream.priority]
    words = [
        "keepon-talk", device, "--stream", stream.id, "--period", str(stream.period_ns),
        "--base-time", "$base", "--offset", str(release_ns), "--advance", str(stream.advance_ns),
        "--count", str(guest.frames(stream)), "--size", str(stream.frame_bytes), "--dst", target,
        "--priority", str(level), "--pcp", str(stream.priority), "--fifo", "80",
        "--records", str(guest.frames(stream)), "--json", f"/out/talk-{stream.id}.json",
    ]  # fmt: skip
    if guest.driver(stream.talker) == "keepon":
        words.append("--hw-stamps")
    if station.release == "sleep":
        words.append("--no-txtime")
    for delay in delays:
        words += ["--delay", delay]
    quoted = " ".join(word if word == "$base" else shlex.quote(word) for word in words)
    log = shlex.quote(f"/out/talk-{stream.id}.txt")
    return (
        f'ip netns exec {shlex.quote(stream.talker)} {quoted} > {log} 2>&1 & talkers="$talkers $!"'
    )


def listen_command(guest: Guest, station: str, seconds: float) -> str:
    frames = sum(
        guest.frames(stream) for stream in guest.scenario.stream if station in stream.listeners
    )
    device = guest.device(station)
    name = shlex.quote(station)
    return (
        f"ip netns exec {name} keepon-listen {device} --duration {round(seconds * 1000)}ms"
        f" --records {frames + 16} --json {shlex.quote(f'/out/listen-{station}.json')} >"
        f' {shlex.quote(f"/out/listen-{station}.txt")} 2>&1 & listeners="$listeners $!"'
    )


def load_commands(guest: Guest, load: Load, seconds: float) -> Iterator[str]:
    """iperf3 between two stations; `saturate` is UDP at the rate of the link."""
    listener, talker = shlex.quote(load.listener), shlex.quote(load.talker)
    log = f"/out/load-{load.id}.json"
    yield f"ip netns exec {listener} iperf3 --server --one-off > /dev/null 2>&1 &"
    yield "sleep 0.2"
    rate = (
        f"--udp --bitrate {load.rate_bps} --length {load.frame_bytes - 46}"
        if load.kind != "tcp"
        else ""
    )
    yield (
        f"ip netns exec {talker} iperf3 --client {guest.address(load.listener)} --time"
        f" {math.ceil(seconds)} {rate} "
        f'--json > {shlex.quote(log)} & loads="$loads $!"'
    )


def fault_command(guest: Guest, fault: Fault) -> str | None:
    """A fault at its time, in the background; late submissions are the talker's affair."""
    if fault.kind == "late-submit":
        return None
    device, nic = guest.device(fault.node), guest.nic(fault.node)
    name = shlex.quote(fault.node)
    action = {
        "poll-stall": f"echo {fault.value_ns} > /sys/kernel/debug/keepon/{device}/stall_ns",
        "link-down": f"echo flap {fault.value_ns} > /sys/kernel/debug/keepon_hwsim/{nic}/fault",
        "wire-pause": f"echo pause {fault.value_ns} > /sys/kernel/debug/keepon_hwsim/{nic}/fault",
        "clock-step": (
            f"ip netns exec {name} phc_ctl {device} adj {fault.value_ns / SECOND_NS:.9f} >"
            " /dev/null"
        ),
    }[fault.kind]
    return f"( sleep_until {round(fault.at_s * SECOND_NS)}; {action} ) &"


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


PROLOGUE = """set -eu
control() { echo "$*" > /sys/kernel/debug/keepon_hwsim/control; }
# CLOCK_TAI runs as CLOCK_REALTIME here: nobody sets its offset.
now_tai_ns() { date +%s%N; }
# Wait until so many ns after the first cycle; late is at once.
sleep_until() {
	left=$(( base + $1 - $(now_tai_ns) ))
	[ "$left" -le 0 ] || sleep "$(( left / 1000000000 )).$(printf %09d $(( left % 1000000000 )))"
}
talkers= listeners= loads=
modprobe keepon_hwsim
modprobe keepon
"""


def guest_script(scenario: Scenario, plan: Plan, run: str) -> str:
    """The whole script of one run.

    Args:
        scenario: one that keepon.targets.vm.check_supported() accepts.
        plan: its verified, feasible plan.
        run: what stations under test are in this run.
    """
    guest = Guest(scenario, plan, run)
    topology = Topology(scenario)
    total_s = scenario.warmup_s + scenario.duration_s
    lines: list[str] = []
    shared: str | None = None
    for station in scenario.station:
        wire = topology.station_wire(station.name)
        if wire is None:
            continue
        lines += station_commands(guest, station, wire.rate_bps, shared)
        if scenario.sync.mode == "ideal" and shared is None:
            shared = guest.nic(station.name)
    for bridge in scenario.bridge:
        peers = topology.neighbours[bridge.name]
        rate_bps = (
            topology.wires[bridge.name, peers[0]].rate_bps if peers else scenario.defaults.rate_bps
        )
        lines.append(
            f"control bridge {guest.bridge(bridge.name)} ports={max(2, len(peers))} "
            f"processing_ns={bridge.processing_ns} rate_bps={rate_bps}"
        )
    for link in scenario.link:
        ends = [
            f"{guest.bridge(here)}:{topology.neighbours[here].index(there)}"
            if here in topology.bridges
            else guest.nic(here)
            for here, there in (link.ends, link.ends[::-1])
        ]
        wire = topology.wires[link.ends[0], link.ends[1]]
        lines.append(f"control link {ends[0]} {ends[1]} propagation_ns={wire.propagation_ns}")
    for station in scenario.station:
        if topology.station_wire(station.name) is not None:
            lines += up_commands(guest, station)
    entries = {
        talker: min(
            RECORD_ENTRIES_MAX,
            4096 + 3 * sum(guest.frames(s) for s in scenario.stream if s.talker == talker),
        )
        for talker in guest.talkers
    }
    lines += [
        f"control capture {guest.nic(talker)} on records={count}"
        for talker, count in entries.items()
    ]
    lines.append("echo 16384 > /sys/kernel/tracing/buffer_size_kb")
    lines.append("echo 1 > /sys/kernel/tracing/events/keepon/enable")
    lines.append("sleep 0.5")
    lines += [
        line for load in scenario.load for line in load_commands(guest, load, total_s + LEAD_S)
    ]
    drain_s = max(DRAIN_S, allowed_ns(scenario, plan) / SECOND_NS)
    lines += [
        listen_command(guest, station, total_s + LEAD_S + drain_s + 1)
        for station in guest.listeners
    ]
    lines.append(
        f"base=$(( ( ($(date +%s) + {LEAD_S}) * {SECOND_NS} / {guest.cycle_ns} + 1) *"
        f" {guest.cycle_ns} ))"
    )
    lines.append("echo $base > /out/base_ns")
    lines += [talk_command(guest, stream, delays_of(guest, stream)) for stream in scenario.stream]
    lines += [
        command for fault in scenario.fault if (command := fault_command(guest, fault)) is not None
    ]
    lines.append('for process in $talkers; do wait "$process" || echo "talker: exit code $?"; done')
    lines.append(
        'for process in $listeners; do wait "$process" || echo "listener: exit code $?"; done'
    )
    lines.append('for process in $loads; do wait "$process" || echo "load: exit code $?"; done')
    lines.append("cat /sys/kernel/tracing/trace > /out/trace.txt")
    for station in scenario.station:
        if topology.station_wire(station.name) is None:
            continue
        name, nic, device = (
            shlex.quote(station.name),
            guest.nic(station.name),
            guest.device(station.name),
        )
        if station.name in guest.talkers:
            lines.append(
                f"cat /sys/kernel/debug/keepon_hwsim/{nic}/wire >"
                f" {shlex.quote(f'/out/wire-{station.name}.txt')}"
            )
        for interface in dict.fromkeys((nic, device)):
            lines.append(
                f"ip netns exec {name} ethtool -S {interface} > /out/stats-{interface}.txt"
            )
    for bridge in scenario.bridge:
        short = guest.bridge(bridge.name)
        lines.append(f"cat /sys/kernel/debug/keepon_hwsim/{short}/stats > /out/stats-{short}.txt")
    return PROLOGUE + "\n".join(lines) + "\n"


def gated(plan: Plan) -> str | None:
    """Name of a bridge whose plan has a port that is not always open."""
    for name, entry in plan["bridges"].items():
        for port in entry["ports"].values():
            if any(
                int(gate["gates"], 16) & ALL_GATES != ALL_GATES for gate in port.get("entries", [])
            ):
                return str(name)
    return None
