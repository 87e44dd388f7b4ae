# SPDX-License-Identifier: BSD-3-Clause
"""A planned scenario as commands for a guest: hwsim NICs and bridges, namespaces, `ip link`, `tc`,
talkers, listeners.

Only text is made here. What the guest leaves behind is read by keepon.targets.vm.observations.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator

from keepon_host.link.options import ip_words

from keepon.machines.planned import SECOND_NS, Guest, link_options, queue_commands
from keepon.machines.traffic import LOAD_SERVER, delays_of, listen_words, load_words, talk_words
from keepon.measure.due import allowed_ns
from keepon.model.gates import ALL_GATES
from keepon.model.plan import Plan
from keepon.model.qdiscs import stations
from keepon.model.scenario import Fault, Load, Scenario, Station, Stream
from keepon.model.topology import Topology

HWSIM_MODES = {"keepon": "ring", "standard": "ordinary", "launchtime": "launchtime"}
# From the last command before traffic to the first txtime, and at least from the last txtime until
# everything is counted.
LEAD_S = 2
DRAIN_S = 0.1
# What the wire of a talker keeps: its frames, and as many runs of placeholders between them.
RECORD_ENTRIES_MAX = 1 << 20


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
        f" fragments={station.nic.fragments_max}"
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
    up = f"ip -n {name} link set {device} up"
    if device != nic:
        words = " ".join(ip_words(nic, device, link_options(guest, station)))
        yield f"ip -n {name} link set {nic} up"
        yield f"ip -n {name} {words}"
    tree = stations.tree_of(station)
    if tree is not None and stations.stops_if_up(tree):
        yield from (*queue_commands(guest, station), up)
    else:
        yield from (up, *queue_commands(guest, station))
    yield f"ip -n {name} addr add {guest.address(station.name)}/24 dev {device}"


def talk_command(guest: Guest, stream: Stream, delays: list[str]) -> str:
    """The talker of a stream, in the background of the script; its process is kept in $talkers."""
    target = guest.mac(stream.listeners[0])
    words = talk_words(guest, stream, delays, "$base", target, f"/out/talk-{stream.id}.json")
    quoted = " ".join(word if word == "$base" else shlex.quote(word) for word in words)
    log = shlex.quote(f"/out/talk-{stream.id}.txt")
    return (
        f'ip netns exec {shlex.quote(stream.talker)} {quoted} > {log} 2>&1 & talkers="$talkers $!"'
    )


def listen_command(guest: Guest, station: str, seconds: float) -> str:
    words = listen_words(guest, station, seconds, f"/out/listen-{station}.json")
    return (
        f"ip netns exec {shlex.quote(station)} {shlex.join(words)} >"
        f' {shlex.quote(f"/out/listen-{station}.txt")} 2>&1 & listeners="$listeners $!"'
    )


def load_commands(guest: Guest, load: Load, seconds: float) -> Iterator[str]:
    """iperf3 between two stations."""
    listener, talker = shlex.quote(load.listener), shlex.quote(load.talker)
    log = f"/out/load-{load.id}.json"
    yield f"ip netns exec {listener} {shlex.join(LOAD_SERVER)} > /dev/null 2>&1 &"
    yield "sleep 0.2"
    words = shlex.join(load_words(guest, load, seconds))
    yield f'ip netns exec {talker} {words} > {shlex.quote(log)} & loads="$loads $!"'


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


def _load_frames(scenario: Scenario, load: Load) -> int:
    """How many frames a load sends in a run, about: it lasts longer than the streams do."""
    seconds = LEAD_S + scenario.warmup_s + scenario.duration_s
    return math.ceil(seconds * load.rate_bps / (8 * load.frame_bytes))


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
    wires = {port.station: port.wire for port in topology.ports.values()}
    total_s = scenario.warmup_s + scenario.duration_s
    lines: list[str] = []
    shared: str | None = None
    for station in scenario.station:
        if station.name not in wires:
            continue
        lines += station_commands(guest, station, wires[station.name].rate_bps, shared)
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
            f" classes={''.join(str(bridge.class_of(priority)) for priority in range(8))}"
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
        if station.name in wires:
            lines += up_commands(guest, station)
    entries = {
        talker: min(
            RECORD_ENTRIES_MAX,
            4096
            + 3 * sum(guest.frames(s) for s in scenario.stream if s.talker == talker)
            + 2
            * sum(_load_frames(scenario, load) for load in scenario.load if load.talker == talker),
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
        if station.name not in wires:
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
