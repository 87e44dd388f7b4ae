# SPDX-License-Identifier: BSD-3-Clause
"""A plan is run in the simulator before it is printed: every frame it promises must come within its
bounds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np

from keepon.errors import ConfigError, PlanRejectedError
from keepon.measure.due import last_bits_ps
from keepon.measure.results import SENT_VERDICTS
from keepon.model import outcomes, overload, policing
from keepon.model.hosts import etf_delta_ns, host_of
from keepon.model.plan import Plan, Trial
from keepon.model.qdiscs import stations
from keepon.model.qdiscs.tree import Etf, Taprio
from keepon.model.result import RunResult
from keepon.model.scenario import Scenario, Station, Stream
from keepon.model.timing import talk_start_ns
from keepon.model.topology import Topology
from keepon.model.wire import ceil_ns
from keepon.targets.runs import Run
from keepon.targets.sim.build import Build
from keepon.targets.sim.refusals import check_supported
from keepon.targets.sim.runner import simulate_build
from keepon.trial import clocks

UNPLANNED = ("late", "unsynchronised", "unlocked", "stepped")
"""Verdicts that say something of host and clocks, and nothing of the plan."""
OUT_OF_ORDER = "invalid"
"""The same behind etf, which sends at once what comes after its delta, and drops what comes behind
that with an earlier txtime.
"""
BY_QDISC = ("not_allowed", "oversize", "no_room")
"""The same behind qdiscs that the user has written: gates and limits of theirs are no part of the
plan.
"""
HELD_UP = ("no_room", "no_slot")
"""The same of frames that best effort keeps in their host: its queue is full, or they come to the
driver when no slot is left.
"""
LATE = "beyond a bound, beside frames of its talker that came late"
BEHIND = "beyond a bound or lost, at ports with frames of other talkers that came late"
ALONE = "tried without the talker's TCP loads of longer frames:"
"""Of best effort that fills a host only where other TCP loads leave it most of that: how what is
said of it ends, a number behind it.
"""
TAKEN = "in a bridge's queue, behind frames too long for the windows that come"
"""Of a talker that keeps no time: others of its queue take its windows, and it theirs."""
WAITING = "in a queue on its way when the trial ended"
"""Of a talker whose gates let its frames go more slowly than they come."""
OVERDUE = "later than its deadline"
"""Of a talker without a bound, whose deadline only the trial can compare: how a reason begins."""
FULL = "lost as its frames come at any time and find no room in"
"""Of such a talker, as several come together: how a reason begins that goes on with the queue."""

TRIAL_LAPS = 4
TRIAL_MIN_NS = 10_000_000
TRIAL_MAX_NS = 500_000_000
TRIAL_SYNCS = 40
TRIAL_SYNCS_MAX_NS = 60_000_000_000


def _at_leisure() -> None:
    """Who has all the time there is looks at no clock."""


def refusal(scenario: Scenario) -> str | None:
    """Why the simulator cannot try a plan of a scenario, as one sentence; None: it can."""
    try:
        check_supported(scenario.model_copy(update={"fault": []}))
    except ConfigError as error:
        return str(error)
    return None


def trial(scenario: Scenario, plan: Plan, look: Callable[[], None] = _at_leisure) -> Trial:
    """Run a feasible plan in the simulator without faults, with the drivers it was made for, and
    compare all bounds.

    Hosts have no tails: how seldom they are late is their affair (G2 of the rationale), and no plan
    could promise more. Frames that come late all the same are named, with the streams of their
    talkers and those that meet them at a port, whose bounds rest on their being in time.

    Returns:
        duration_s, frames delivered, `unsent`: by stream how many frames got which of UNPLANNED
        instead, or came after their deadline; `behind`: reasons there that are best effort.

    Raises:
        ConfigError: a clock was further off than stated for it; with isolation "order", frames did
            not keep a bound that they keep once all streams are sent.
        PlanRejectedError: a frame that was sent did not keep a bound of the plan, was lost, or had
            no slot of its own.
        TimeUpError: by `look`, which is called now and then.
    """

    def looked(_driver: str, _share: float) -> None:
        look()

    cycles_ns = _cycles_ns(scenario)
    duration_ns = min(
        max(TRIAL_LAPS * math.lcm(*cycles_ns), 2 * max(cycles_ns), TRIAL_MIN_NS), TRIAL_MAX_NS
    )
    # Streams start to be sent after a while, measured or not.
    duration_ns = max(duration_ns, max(cycles_ns), _sync_ns(scenario)) + max(
        0, talk_start_ns(scenario, plan) - round(scenario.warmup_s * 1e9)
    )
    settled_ns = round(scenario.warmup_s * 1e9)
    links = [link.model_copy(update={"loss_probability": 0.0}) for link in scenario.link]
    # However late they begin in a run, they are part of what is tried.
    loads = [
        load.model_copy(update={"start_ns": min(load.start_ns, settled_ns)})
        for load in scenario.load
    ]
    short = scenario.model_copy(
        update={
            "duration_s": duration_ns / 1e9, "fault": [], "link": links, "load": loads,
            "host_tail_scale": 0.0,
        }
    )  # fmt: skip
    driver = "keepon" if short.compare is not None else short.drivers()[0]
    build, run = simulate_build(short, plan, driver, scenario.seed, looked)
    if scenario.sync.by_ptp and clocks.wrong_clocks(build, settled_ns):
        # Exchanges of PTP that always take longer than their interval end in time only with what
        # hosts vary.
        short = short.model_copy(update={"host_tail_scale": scenario.host_tail_scale})
        build, run = simulate_build(short, plan, driver, scenario.seed, looked)
    _check_clocks(build, settled_ns, look)
    unsent: dict[str, dict[str, int]] = {}

    def run_again(alone: Scenario) -> RunResult:
        return simulate_build(alone, plan, driver, scenario.seed, looked)[1].document

    came, busy = _came_late(short, plan, run.document, run_again)
    late = _late_streams(short, plan, came, {port: entry.sentence for port, entry in busy.items()})
    held = {stream.id for stream in short.stream if build.topology.port_of(stream).name in busy}
    unplanned = {
        stream.id: (
            *_unplanned(short.station_named(stream.talker)),
            *(HELD_UP if stream.id in held else ()),
        )
        for stream in short.stream
    }
    for name, entry in run.document["streams"].items():
        ended = {
            key: count
            for key, count in entry["verdicts"].items()
            if count and key not in SENT_VERDICTS
        }
        own = {key: count for key, count in ended.items() if key in unplanned[name]}
        kept = all(check["met"] for check in entry["bound_check"].values())
        amiss = entry["pending"] or entry["lost"] or not entry["delivered"] or {*own} & {*HELD_UP}
        untimed = plan["streams"][name]["bounds"]["delay_ns"] is None
        if name in late and (not kept or (amiss and own.keys() == ended.keys())):
            # What its own talker brought late says more than what it waited for.
            unsent[name] = own if own and BEHIND in late[name] else late[name]
            continue
        for bound, check in entry["bound_check"].items():
            if check["outcome"] == outcomes.MISSED and bound != "deadline_ns":
                # A frame that misses its window while clocks settle keeps those behind it waiting
                # for ever.
                _check_clocks(build, talk_start_ns(scenario, plan), look)
                _check_started(scenario, plan, look)
                raise PlanRejectedError(
                    f"the plan failed in the simulator: {bound} of stream {name} was"
                    f" {check['worst_ns']:.15g}, its bound is {check['bound_ns']}"
                )
        others = {**ended, **entry["lost"]}
        others = {key: count for key, count in others.items() if key not in unplanned[name]}
        by_hand = {key: count for key, count in others.items() if _is_by_hand(key)}
        if by_hand and by_hand == others:
            unsent[name] = {**(own or {}), **by_hand}
            continue
        if others and untimed and all(" queue to " in place for place in others):
            unsent[name] = {_full(short, plan, name, others): sum(others.values())}
            continue
        if others or (not ended and not entry["delivered"]):
            _check_clocks(build, talk_start_ns(scenario, plan), look)
        if others:
            reason = ", ".join(f"{key} {count}" for key, count in others.items())
            raise PlanRejectedError(
                f"the plan failed in the simulator: frames of stream {name} ended as {reason}"
            )
        if ended:
            unsent[name] = late[name] if name in held else ended
        elif not entry["delivered"] and untimed:
            reason = TAKEN if plan["streams"][name]["windows"] else WAITING
            unsent[name] = {reason: entry["submitted"]}
        elif not entry["delivered"]:
            raise PlanRejectedError(
                f"the plan failed in the simulator: no frame of stream {name} was sent"
            )
    for name, entry in run.document["streams"].items():
        if entry["missing"] and name not in unsent:
            unsent[name] = {WAITING: entry["missing"]}
    for name, overdue in _overdue(build, run).items():
        unsent[name] = {**unsent.get(name, {}), **overdue}
    delivered = sum(entry["delivered"] for entry in run.document["streams"].values())
    found: Trial = {"duration_s": short.duration_s, "delivered": delivered, "unsent": unsent}
    if busy:
        found["behind"] = {entry.sentence: entry.kind for entry in busy.values()}
    if (repeats_ns := math.lcm(*cycles_ns)) > duration_ns:
        found["repeats_s"] = repeats_ns / 1e9
    if not unsent and (fewer := _shortest_alone(scenario)) is not None:
        alone = trial(fewer, plan, look)
        if "behind" in alone:
            renamed = {key: f"{key}, {ALONE}" for key in alone["behind"]}
            alone["behind"] = {renamed[key]: kind for key, kind in alone["behind"].items()}
            alone["unsent"] = {
                name: {renamed.get(key, key): count for key, count in verdicts.items()}
                for name, verdicts in alone["unsent"].items()
            }
            return alone
    return found


def _shortest_alone(scenario: Scenario) -> Scenario | None:
    """With those TCP loads of each talker alone whose frames are shortest, which keep its driver
    busiest: what each connection gets of it changes long after a trial. None: there are no others.
    """
    shortest: dict[str, int] = {}
    for load in scenario.load:
        if load.kind == "tcp":
            least = shortest.get(load.talker, load.frame_bytes)
            shortest[load.talker] = min(load.frame_bytes, least)
    left = [
        load
        for load in scenario.load
        if load.kind != "tcp" or load.frame_bytes == shortest[load.talker]
    ]
    return scenario.model_copy(update={"load": left}) if len(left) < len(scenario.load) else None


def _overdue(build: Build, run: Run) -> dict[str, dict[str, int]]:
    """Frames that came later than their deadline, by stream, for `unsent`: what has a bound keeps
    that, which is no longer.
    """
    found = {}
    for stream in build.scenario.stream:
        frames = run.frames[stream.id]
        talker = build.scenario.station_named(stream.talker)
        padded = build.scenario.driver_of(talker, build.run) == "keepon"
        entry = build.plan["streams"][stream.id]
        last_ps = last_bits_ps(build.scenario, stream, entry, padded)
        delays_ps = np.where(frames.delay_known, frames.arrival_ps - frames.txtime_ps + last_ps, 0)
        latest_ps = delays_ps.max(axis=0, initial=0)
        if stream.deadline_ns is not None and latest_ps.max(initial=0) > stream.deadline_ns * 1000:
            reason = (
                f"{OVERDUE} of {stream.deadline_ns} ns (the worst came after"
                f" {ceil_ns(int(latest_ps.max()))} ns)"
            )
            count = int(np.count_nonzero(latest_ps > stream.deadline_ns * 1000))
            found[stream.id] = {reason: count}
    return found


def _full(scenario: Scenario, plan: Plan, name: str, lost: Iterable[str]) -> str:
    """Why frames of a stream were lost in queues, with these, for `unsent`."""
    bridges = {bridge.name: bridge for bridge in scenario.bridge}
    ways = {(window["bridge"], window["peer"]) for window in plan["streams"][name]["windows"]}
    places = {place for reason in lost for place in reason.split(" or ")}
    queues = [
        f"the queue of class {plan['bridges'][bridge]['ports'][peer]['queues'][name]} of bridge"
        f' "{bridge}" towards "{peer}" (queue_frames = {bridges[bridge].queue_frames})'
        for bridge, peer in sorted(ways)
        if f"{bridge} queue to {peer}" in places
    ]
    return f"{FULL} {' or '.join(queues)}"


def _is_by_hand(places: str) -> bool:
    """Whether frames lost at these places were lost to filters that the scenario has, which are no
    part of the plan.
    """
    return all(
        any(kind in place for kind in policing.PLACES) and policing.PLANNED not in place
        for place in places.split(" or ")
    )


def _cycles_ns(scenario: Scenario) -> list[int]:
    """Periods of streams, and cycles of the gates in their talkers."""
    qdiscs = {station.name: station.qdisc for station in scenario.station}
    found = [entry.cycle_ns for entry in scenario.stream]
    found += [stations.cycle_ns(qdiscs[entry.talker]) or 1 for entry in scenario.stream]
    return found


def _unplanned(station: Station) -> tuple[str, ...]:
    """Verdicts on a station's frames that are no defect of the plan."""
    if station.qdisc is not None:
        return (*UNPLANNED, OUT_OF_ORDER, *BY_QDISC)
    behind_etf = station.driver == "standard" or station.release in ("etf", "reschedule")
    return (*UNPLANNED, OUT_OF_ORDER) if behind_etf else UNPLANNED


def _check_clocks(build: Build, from_ns: int, look: Callable[[], None]) -> None:
    if build.scenario.sync.by_ptp and (wrong := clocks.wrong_clocks(build, from_ns)):
        raise clocks.refusal(build.scenario, build.plan, wrong, lambda _: look())


def _check_started(scenario: Scenario, plan: Plan, look: Callable[[], None]) -> None:
    """Where order is all that parts frames, one behind a stream that is not sent yet leaves sooner,
    as behind one that is lost (docs/planning.md): what is measured must begin later.
    """
    settled_ns = 2 * max(stream.period_ns for stream in scenario.stream)
    needed_ns = talk_start_ns(scenario, plan) + settled_ns
    if scenario.sync.by_ptp:  # streams begin at half of the warm-up
        needed_ns = max(needed_ns, 2 * settled_ns)
    needed_s = math.ceil(needed_ns / 1e6) / 1000
    if scenario.planner.isolation != "order" or scenario.warmup_s >= needed_s:
        return
    trial(scenario.model_copy(update={"warmup_s": needed_s}), plan, look)
    raise ConfigError(
        f"key `warmup_s` = {scenario.warmup_s}: must be at least {needed_s:.15g} with"
        ' `planner.isolation` = "order", whose bounds hold once every stream is being sent'
        ' ("frame" needs no warm-up)'
    )


def _sync_ns(scenario: Scenario) -> int:
    """How long clocks are watched: servos answer once an interval, and what they do comes back
    after many.
    """
    if not scenario.sync.by_ptp:
        return 0
    return min(TRIAL_SYNCS * scenario.sync.interval_ms * 1_000_000, TRIAL_SYNCS_MAX_NS)


def _came_late(
    scenario: Scenario, plan: Plan, document: RunResult, run_again: Callable[[Scenario], RunResult]
) -> tuple[Counter[str], dict[str, overload.Busy]]:
    """Frames that came late, by the port of their talker, and what they waited for there, if most
    are in time in a run without best effort.

    What never came is counted with best effort alone: otherwise it is a defect of the plan.
    """
    came, never = _late_ports(scenario, document)
    if not (came or never) or not scenario.load:
        return came, {}
    alone = scenario.model_copy(update={"load": []})
    left = sum(_late_ports(alone, run_again(alone)), Counter[str]())
    loads = Topology(scenario).loads
    busy = {
        port: overload.busy_with(scenario, plan, document, port)
        for port, count in (came + never).items()
        if loads[port] and 2 * left[port] <= count
    }
    return came + Counter({port: never[port] for port in busy}), busy


def _late_streams(
    scenario: Scenario, plan: Plan, late: Counter[str], busy: dict[str, str]
) -> dict[str, dict[str, int]]:
    """Streams that late frames may take windows from: those that leave by the same port of their
    talker, those that share a port of a bridge with them, and with these in turn. Values are for
    `unsent`.

    Args:
        late: frames that came late, by port.
        busy: what they waited for, by port, where best effort is to blame.
    """
    topology = Topology(scenario)
    leave = {stream.id: topology.port_of(stream).name for stream in scenario.stream}
    found = {
        stream.id: {busy.get(port) or why_etf(scenario, plan, stream) or LATE: late[port]}
        for stream in scenario.stream
        if (port := leave[stream.id]) in late
    }
    ports = {
        name: {(window["bridge"], window["peer"]) for window in entry["windows"]}
        for name, entry in plan["streams"].items()
    }
    met, count = set[tuple[str, str]](), late.total()
    reached = list(found)
    while reached:
        met |= ports[reached.pop()]
        others = [name for name in ports if name not in found and ports[name] & met]
        found |= {name: {BEHIND: count} for name in others}
        reached += others
    return found


def _late_ports(scenario: Scenario, document: RunResult) -> tuple[Counter[str], Counter[str]]:
    """Frames that came to the driver or the NIC when it was too late for them, and those that never
    did, by the port their stream leaves by.
    """
    topology = Topology(scenario)
    came, never = Counter[str](), Counter[str]()
    for stream in scenario.stream:
        entry, station = document["streams"][stream.id], document["stations"][stream.talker]
        port = topology.port_of(stream).name
        never[port] += entry["pending"] + sum(entry["verdicts"].get(name, 0) for name in HELD_UP)
        if scenario.station_named(stream.talker).driver == "launchtime":
            came[port] = station.get("ports", {}).get(port, station)["nic"]["late_launches"]
        else:
            came[port] += sum(entry["verdicts"].get(name, 0) for name in ("moved", "late"))
    return +came, +never


BY_ETF = "by its etf, "
"""How what `why_etf` says begins."""
_OPENED = f"{BY_ETF}as the CPU's timer opens the gates of taprio after their times, dropped"


def why_etf(scenario: Scenario, plan: Plan, stream: Stream) -> str | None:
    """What is known of frames of a stream that came late, as `unsent` of a trial says it; None: no
    more than that.
    """
    station = scenario.station_named(stream.talker)
    tree = stations.tree_of(station)
    if station.release == "sleep":
        return None
    if tree is not None:
        etf = stations.leaf_of(tree, stream.tc)
    elif station.driver == "standard" or station.release == "etf":
        etf = Etf("CLOCK_TAI", etf_delta_ns(station))
    else:
        return None
    if not isinstance(etf, Etf):
        return None
    latency_ns = host_of(station.host, "standard", 0.0)[0]["timer"].usual_ns
    if etf.delta_ns < latency_ns and not etf.deadline_mode:
        return (
            f"{BY_ETF}whose delta ({etf.delta_ns} ns) is below the {latency_ns} ns that its timer"
            " may be late, dropped"
        )
    if tree is None or not stations.by_timers(tree) or not isinstance(tree.root, Taprio):
        return None
    root, open_ns = tree.root, tree.root.base_ns
    release_ns = plan["streams"][stream.id]["release_ns"]
    for mask, ns in root.entries:
        into_ns = (release_ns - open_ns) % root.cycle_ns
        if mask >> stream.tc & 1 and into_ns < min(ns, latency_ns):
            return _OPENED
        open_ns += ns
    return None


def etf_remedy(why: str) -> str:
    """What helps against what `why_etf` says."""
    if why == _OPENED:
        return "give it an offset_ns that is farther from the start of its window"
    return "raise delta of that etf (etf_delta_ns, if no qdisc is given) above it"
