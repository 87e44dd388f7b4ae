# SPDX-License-Identifier: GPL-2.0-only
"""Plans of the examples as `keepon export --format commands` writes them, carried out by a kernel:
scripts run as they are, keepon-talk sends the streams, and the wire tells in which slot what left.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from export_judge import (
    Left,
    by_stream,
    check_txtimes,
    network_time,
    read,
    ring_of,
    spread,
)
from keepon.cli import session
from keepon.export import commands, exported
from keepon.export.exported import Planned, Port
from keepon.machines.station import Machine
from keepon.model import loading
from keepon.model.scenario import Stream
from keepon.model.topology import Topology
from keepon.targets.vm import observations, programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
SECONDS = 0.4
# From SLAVE until the first step is forgotten: offsets are those of receive stamps from then on
SETTLE_S = 5
# A clock moves by no more than the offset its servo got and the overshoot of its integral
NOISE_FOLLOWED = 2
# SO_PRIORITY of traffic that asks for none, and what IP makes of its type of service
PLAIN_PRIORITIES = (0, 2, 4, 6)
PLAIN_PERIOD_NS = 2_000_000
# Behind the releases of launch-time stations, which it would keep waiting
PLAIN_OFFSET_NS = 500_000
ICOUNT_SHIFT = 0


@dataclass(frozen=True)
class Case:
    """A station of an example on the wire."""

    planned: Planned
    station: str

    @classmethod
    def of(cls, example: str, station: str) -> Case:
        scenario = loading.load(EXAMPLES / f"{example}.toml")
        return cls(Planned(scenario, session.planned(scenario)), station)

    @property
    def machine(self) -> Machine:
        return Machine(self.planned.scenario, self.planned.plan, "keepon", "eth0", "rt0")

    @property
    def streams(self) -> list[Stream]:
        return [s for s in self.planned.scenario.stream if s.talker == self.station]

    def count(self, period_ns: int) -> int:
        return round(SECONDS * 1e9 / period_ns)

    def senders(self) -> str:
        """Streams, the first one by the VLAN device; and best effort of several priorities."""
        machine = self.machine
        device, vlan = machine.device(self.station), machine.vlan(self.station)
        priority = machine.queues(self.station).priority
        lines = [*self._first_frames(priority)]
        for number, stream in enumerate(self.streams):
            words = [
                "keepon-talk", device if number else vlan, "--stream", stream.id, "--period",
                stream.period_ns, "--offset", self.planned.plan["streams"][stream.id]["release_ns"],
                "--advance", stream.advance_ns, "--count", self.count(stream.period_ns),
                "--size", stream.frame_bytes - (0 if number else 4), "--fifo", 80,
                "--priority", priority[stream.tc, stream.priority],
                *(["--pcp", stream.priority] if number else []),
            ]  # fmt: skip
            lines.append(self._background(words))
        for level in PLAIN_PRIORITIES:
            words = [
                "keepon-talk", device, "--stream", f"plain{level}", "--period", PLAIN_PERIOD_NS,
                "--offset", PLAIN_OFFSET_NS, "--no-txtime", "--count", self.count(PLAIN_PERIOD_NS),
                "--size", 80, "--priority", level,
            ]  # fmt: skip
            lines.append(self._background(words))
        return "\n".join(lines) + "\n"

    def first_names(self) -> list[str]:
        """One frame alone for each class of a card with launch times, as a note asks for."""
        notes = commands.export(self.planned).notes
        if not any(
            self.station in note and "send one frame of each class" in note for note in notes
        ):
            return []
        return [f"first{tc}" for tc in sorted({stream.tc for stream in self.streams})]

    def _first_frames(self, priority: dict[tuple[int, int], int]) -> Iterator[str]:
        levels = {f"first{tc}": level for (tc, _), level in priority.items()}
        for name in self.first_names():
            yield (
                f"ip netns exec station keepon-talk {self.machine.device(self.station)} --stream"
                f" {name} --period 1ms --advance 400us --count 1 --size 64 --priority"
                f" {levels[name]} --base-time $((base - 1000000000)) >>/out/talk 2>&1"
            )

    def _background(self, words: list[object]) -> str:
        command = " ".join(shlex.quote(str(word)) for word in words)
        return (
            f"ip netns exec station {command} --base-time $base >>/out/talk 2>&1 &\n"
            'talkers="$talkers $!"'
        )

    def environment(self) -> dict[str, str]:
        scenario = self.planned.scenario
        topology = Topology(scenario)
        (peer,) = topology.neighbours[self.station]
        modes = {"keepon": "ring", "launchtime": "launchtime"}
        return {
            "STATION": self.station,
            "MODE": modes[self.machine.driver(self.station)],
            "RATE_BPS": str(topology.wires[self.station, peer].rate_bps),
            "BRIDGE": peer if scenario.sync.by_ptp else "",
            "PORT": exported.port_name(topology, peer, self.station),
            "SETTLE_S": str(SETTLE_S),
            "DEVICE": self.machine.device(self.station),
        }


def check_pauses(result: GuestResult, obeyed: bool) -> None:
    """PAUSE came, and did or did nothing."""
    nic = observations.read_counters(result.files["nic"].decode())
    assert nic["rx_frames"] >= 100, nic
    assert (nic["rx_pauses"] > 0) == obeyed, nic


def worst_offset_ns(result: GuestResult, station: str) -> int:
    """Worst offset ptp4l measured from when the clock was settled to the end.

    That a station's clock is within its `clock_error_ns` is chosen, for a machine whose receive
    path is free: here the streams' senders run above it on the only CPU, and software's receive
    stamps are up to 116 us late. The servo follows them, whatever the link does: in its slots the
    frames are by the station's own clock.
    """
    log = result.files[f"ptp4l-{station}.log"].decode()
    seconds = [
        (float(at), int(worst))
        for at, worst in re.findall(r"ptp4l\[([\d.]+)\]: rms +\d+ max +(\d+)", log)
    ]
    (steered,) = re.findall(r"ptp4l\[([\d.]+)\]: port 1(?: \(\w+\))?: UNCALIBRATED to SLAVE", log)
    return max(worst for at, worst in seconds if at > float(steered) + SETTLE_S)


def release_errors_ps(case: Case, left: list[Left]) -> dict[str, list[int]]:
    """Of a card with launch times, whose clock is the network's: a frame less its txtime."""
    frames = by_stream(left, [stream.id for stream in case.streams])
    return {
        name: [frame.phc_ps - 1000 * frame.txtime_ns for frame in entry]
        for name, entry in frames.items()
    }


def boot(
    script: str, family: str, planned: list[Planned], files: dict[str, bytes],
    environment: dict[str, str],
) -> GuestResult:  # fmt: skip
    kernel = get_kernel(family)
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    texts = {
        f"/export/{name}": text.encode()
        for entry in planned
        for name, text in commands.export(entry).files.items()
    }
    result = checked(
        lambda: run_guest(
            kernel, HERE / script,
            {
                **programs.guest_files(), "/lib/keepon/common.sh": HERE / "keepon_common.sh",
                **texts, **files,
            },
            modules=modules, tools=[*programs.tools(), "mausezahn"], environment=environment,
            icount_shift=ICOUNT_SHIFT, timeout_s=1800,
        )
    )  # fmt: skip
    assert result.tap.problems() == [], result.files.get("setup", b"").decode()
    return result


SOAK = pytest.mark.soak
CASES = [
    ("robot-cell", "controller"),
    ("habitat", "power-gateway"),
    ("habitat", "rt-simulator"),
    ("gptp", "talker"),
]
# Longer than a minute: one kernel in make test, the other in make soak.
LONG = [
    "6.1",
    *(pytest.param(name, marks=SOAK) for name in offered_families() if name != "6.1"),
]
RUNS = [
    pytest.param(
        example, station, family,
        marks=[SOAK] if example in ("robot-cell", "gptp") and family != "6.1" else [],
    )
    for example, station in CASES
    for family in offered_families()
]  # fmt: skip


@pytest.mark.parametrize(("example", "station", "family"), RUNS)
def test_an_exported_station_sends_every_frame_in_its_planned_slot(
    example: str, station: str, family: str
) -> None:
    case = Case.of(example, station)
    result = boot(
        "exported_station.sh", family, [case.planned],
        {"/lib/keepon/senders": case.senders().encode()}, case.environment(),
    )  # fmt: skip
    print(result.files["talk"].decode())
    check_pauses(result, obeyed=False)
    left = read(result.files["wire"].decode())
    frames = by_stream(left, [stream.id for stream in case.streams])
    for stream in case.streams:
        planned = case.planned.plan["streams"][stream.id]
        check_txtimes(frames[stream.id], planned, stream.period_ns, case.count(stream.period_ns))
        assert {frame.pcp for frame in frames[stream.id]} == {stream.priority}
    of_streams = [frame for entry in frames.values() for frame in entry]
    first = by_stream(left, case.first_names())
    of_classes = {frame for entry in (*frames.values(), *first.values()) for frame in entry}
    others = [frame for frame in left if frame not in of_classes]
    plain = by_stream(left, [f"plain{level}" for level in PLAIN_PRIORITIES])
    assert {name: len(entry) for name, entry in plain.items()} == dict.fromkeys(
        plain, case.count(PLAIN_PERIOD_NS)
    )
    queues = case.machine.queues(station)
    document = case.planned.plan["stations"][station]
    if "allowed" in document:
        ring = ring_of(document, frames)
        for stream in case.streams:
            assert all(ring.classes(frame) >> stream.tc & 1 for frame in frames[stream.id])
        astray = [frame for frame in others if not ring.classes(frame) >> queues.best_effort & 1]
        assert astray == []
    else:
        assert {frame.queue for frame in of_streams} == set(queues.of_class.values())
        assert {frame.queue for frame in others} == {queues.best_effort}
        for name, errors_ps in release_errors_ps(case, left).items():
            planned = case.planned.plan["streams"][name]
            assert min(errors_ps) >= planned["release_early_ps"], name
            assert max(errors_ps) <= planned["release_late_ps"], name
    if not case.planned.scenario.sync.by_ptp:
        return
    assert sum(frame.is_ptp for frame in left) >= 1
    bridge = by_stream(read(result.files["bridge.wire"].decode()), ["network"])["network"]
    stamps = json.loads(result.files["bridge.talk"])["frames"]
    network = network_time(bridge, {frame["seq"]: frame["tx_stamp_ns"] for frame in stamps})
    noise_ps = 1000 * NOISE_FOLLOWED * worst_offset_ns(result, station)
    for name, entry in frames.items():
        planned = case.planned.plan["streams"][name]
        errors_ns = [(network(frame) - 1000 * frame.txtime_ns) / 1000 for frame in entry]
        print(f"{example} {family} {name}: {spread(errors_ns)}")
        assert 1000 * min(errors_ns) >= planned["release_early_ps"] - noise_ps, spread(errors_ns)
        assert 1000 * max(errors_ns) <= planned["release_late_ps"] + noise_ps, spread(errors_ns)


@pytest.mark.parametrize(
    ("again", "least_ps"),
    [
        # 1024 times 512 bits at 1 Gb/s, of which a frame waits the end; a sleeping wire's 16.5 us
        pytest.param("-A eth0 autoneg off rx on tx off", 16_500_000, id="pause"),
        pytest.param("--set-eee eth0 eee on", 16_500_000, id="eee"),
    ],
)
def test_what_an_exported_script_switches_off_would_hold_frames_back(
    again: str, least_ps: int
) -> None:
    """The same station as above, with one of both on again: the plan's times do not hold."""
    case = Case.of("habitat", "rt-simulator")
    result = boot(
        "exported_station.sh", "6.1", [case.planned],
        {"/lib/keepon/senders": case.senders().encode()}, {**case.environment(), "AGAIN": again},
    )  # fmt: skip
    check_pauses(result, obeyed=again.startswith("-A"))
    worst_ps = max(
        max(errors)
        for errors in release_errors_ps(case, read(result.files["wire"].decode())).values()
    )
    print(f"{again}: {worst_ps} ps late")
    assert worst_ps >= least_ps
    assert worst_ps > max(
        case.planned.plan["streams"][stream.id]["release_late_ps"] for stream in case.streams
    )


def settings_of(text: bytes) -> dict[tuple[str, str], str]:
    """Of each port, PAUSE and EEE, in ethtool's words."""
    lines = (line.split() for line in text.decode().splitlines())
    return {(port, what): value for port, what, value in lines}


@pytest.mark.parametrize("family", LONG)
def test_tc_takes_the_gates_of_exported_bridges(family: str) -> None:
    planned = [Case.of(name, "").planned for name in ("robot-cell", "habitat", "gptp")]
    lines: list[str] = []
    gates: dict[str, list[Port]] = {}
    by_linux: dict[str, bool] = {}
    for entry in planned:
        topology = Topology(entry.scenario)
        notes = " ".join(commands.export(entry).notes)
        for bridge in entry.scenario.bridge:
            peers = topology.neighbours[bridge.name]
            name = bridge.name
            if entry.scenario.name == "gptp" and name in gates:
                continue  # names of the habitat's
            rates = [
                f"{topology.wires[name, peer].rate_bps}:swp{number}"
                for number, peer in enumerate(peers)
            ]
            lines.append(f"{name} {' '.join(rates)}")
            gates[name] = [p for p in exported.gated_ports(entry) if p.bridge == name]
            by_linux[name] = f"bridge {name}," not in notes
    result = boot(
        "exported_bridges.sh", family, planned[:2],
        {"/lib/keepon/bridges": ("\n".join(lines) + "\n").encode()}, {},
    )  # fmt: skip
    assert [name for name, taken in by_linux.items() if taken] == ["br2", "br3", "br4"]
    for name, ports in gates.items():
        said = result.files[f"{name}.said"].decode()
        over_own, offloaded, *by_timers = result.files[f"{name}.result"].decode().split()
        own, before = (result.files[f"{name}.{when}"].decode() for when in ("own", "before"))
        assert over_own == "refused" and result.files[f"{name}.left"].decode() == own
        assert offloaded == "refused" and "taprio" not in before
        shown = result.files[f"{name}.qdiscs"].decode()
        on, then = (settings_of(result.files[f"{name}.{when}"]) for when in ("first", "then"))
        assert len(on) == len(then) >= 4 and set(on.values()) == {"on", "enabled"}
        off = {(port.name, what) for port in ports for what in ("PAUSE", "EEE")}
        off = off if by_linux[name] else set()
        assert {key for key, value in then.items() if value in ("off", "disabled")} == off
        if not by_linux[name]:
            assert by_timers == ["refused"] * 2 and "it needs a switch that takes" in said
            assert "taprio" not in shown
            continue
        first = ports[0].name
        kind = "pfifo 7:" if first == "swp0" else "mqprio 8:"
        assert said.splitlines()[0] == (
            f"/export/{name}.sh: {first} has queueing discipline {kind} at its root, which Keepon"
            f" did not set: take it away with tc qdisc del dev {first} root"
        )
        assert "offload needs a switch whose driver has it" in said
        assert by_timers == ["taken"] * 2, said
        classes = result.files[f"{name}.classes"].decode()
        assert all(f"/{port.name}/queues/tx-1/traffic_class:1\n" in classes for port in ports)
        for port in ports:
            its = shown.partition(f"qdisc taprio 100: dev {port.name} ")[2].partition("qdisc ")[0]
            entries = re.findall(r"index \d+ cmd S gatemask (0|0x[0-9a-f]+) interval (\d+)", its)
            base_ns, listed = commands.joined(port)
            assert [(int(mask, 16), int(ns)) for mask, ns in entries] == listed
            assert f"base-time {base_ns} " in its
