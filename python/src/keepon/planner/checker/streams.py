# SPDX-License-Identifier: BSD-3-Clause
"""Streams of a plan: their routes, release intervals and bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise

from keepon.model.plan import DelayTerms, PlannedStream
from keepon.model.scenario import Station, Stream
from keepon.planner.checker import guests
from keepon.planner.checker.given import Given, Place, node, places
from keepon.planner.checker.replay import Replay
from keepon.planner.checker.runs import of_port
from keepon.planner.checker.spans import frame_ps
from keepon.planner.checker.steady import Steady


def keeps_times(given: Given, station: Station) -> bool:
    """Whether all streams of a station pass an offloaded etf, or none does: a stream that does not
    leaves the NIC without a launch time.
    """
    if station.qdisc is None:
        return True
    commands = [line.split() for line in station.qdisc.replace("\\\n", " ").splitlines()]
    streams = [stream for stream in given.streams.values() if stream.talker == station.name]
    return all({"etf", "offload"} <= set(_leaf(commands, stream.tc)) for stream in streams)


def keeps_windows(given: Given, stream: Stream) -> bool:
    """Whether no best effort shares the port of a stream with launch times behind txtime-assist,
    whose launch times for best effort assume too short frames.
    """
    station, place = given.scenario.station_named(stream.talker), given.leaves[stream.id]
    words = (station.qdisc or "").split()
    flags = [int(value, 0) for word, value in pairwise(words) if word == "flags"]
    return 1 not in flags or all((way[0], way[1]) != place for _, way in given.best_effort)


def _leaf(commands: list[list[str]], tc: int) -> list[str]:
    """Words of the last command that sets the qdisc of a class; empty where Linux chose it.

    A later command replaces an earlier one. Class `tc` has queue `offset` of `queues count@offset
    ...`, which is child offset + 1, in hexadecimal.
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


_Reached = tuple[str, int, int, int]
"""Listener, turn, and earliest and latest arrival of the turn's frames, from its period's start."""


def check_shape(given: Given) -> list[str]:
    """Check that the plan is for this scenario; the other checks rely on it."""
    if set(given.plan["streams"]) != set(given.streams):
        return ["the plan's streams are not those of the scenario"]
    for name, stream in given.streams.items():
        if reason := _check_route(given, stream, given.entry(name)):
            return [f"{name}: {reason}"]
    if unknown := set(given.plan["stations"]) - set(given.station_ports):
        return [f"station {min(unknown)} is not in the scenario"]
    talking = {given.port_name(place) for place in given.leaves.values()} | {
        given.port_name((way[0], way[1])) for _, way in given.best_effort
    }
    # The plan lists all ports of a station with several: each has a transmitter.
    talking |= {name for name, place in given.station_ports.items() if name != place[0]}
    if missing := talking - set(given.plan["stations"]):
        return [f"station {min(missing)} is not in the plan"]
    return []


def _check_route(given: Given, stream: Stream, entry: PlannedStream) -> str:
    if set(entry["routes"]) != set(stream.listeners):
        return "routes do not lead to exactly its listeners"
    if entry["route"] not in entry["routes"].values():
        return "route is none of its routes"
    before: dict[str, Place] = {}
    if ("second_route" in entry) != (stream.redundancy == 2):
        return "it has another number of ways than its redundancy"
    for path in given.ways(stream.id):
        listener, route, nodes = path[-1], path[1:-1], list(map(node, path))
        if len(set(nodes)) != len(nodes):
            return "a route passes a node twice"
        if (stream.talker, path[1]) != given.leaves[stream.id]:
            return "a route does not begin at the port its stream leaves by"
        if not set(nodes[1:-1]) <= set(given.bridges):
            return "a route passes something that is no bridge"
        if any(given.bridges[node(called)].forwarding != "hardware" for called in route):
            return "a route passes a bridge that keeps no time"
        if any(place not in given.links for place in places(path)):
            return "a route uses a link that does not exist"
        if (
            isinstance(stream.route, list)
            and listener == stream.listeners[0]
            and stream.route not in (route, entry["routes"][listener])
        ):
            return "the route is not the one asked for"
        if stream.redundancy == 1 and any(
            before.setdefault(node(place[1]), place) != place for place in places(path)
        ):
            return "its routes reach a node in two ways"
    if stream.redundancy == 2 and (shared := _shared(given, stream)):
        return f"both its ways pass {' towards '.join(shared)}"
    hops = {place for path in given.ways(stream.id) for place in places(path)[1:]}
    turns = range(len(given.releases_ns(stream.id)))
    wanted = sorted((turn, *hop) for turn in turns for hop in hops)
    if (
        sorted(
            (window.get("turn", 0), window["bridge"], window["peer"]) for window in entry["windows"]
        )
        != wanted
    ):
        return "its windows are not those of its route"
    return ""


def _shared(given: Given, stream: Stream) -> tuple[str, ...]:
    """A bridge or link that both ways of a stream have, and need not."""
    one, other = given.ways(stream.id)
    ends, needed = {one[0], one[1], one[-1]}, {(one[0], one[1])}
    if len(given.peers[one[-1]]) == 1:
        ends.add(node(one[-2]))
        needed.add(places(one)[-1])
    if nodes := {*map(node, one)} & {*map(node, other)} - ends:
        return (min(nodes),)
    links = set(places(one)) & set(places(other)) - needed
    return min(links, default=())


def check_copies(given: Given, steady: Steady) -> list[str]:
    """Recovery knows each copy as one: it comes neither behind more newer frames than it remembers
    nor after the numbers are forgotten.
    """
    found = []
    for name, stream in given.streams.items():
        if stream.redundancy == 1:
            continue
        ends = [
            at_ps - given.start_ps(name, turn)
            for turn in range(len(given.releases_ns(name)))
            for copy in steady.copies[name, turn]
            for at_ps in copy
        ]
        behind_ps = max(ends) - min(ends)
        options = stream.frer
        # The quicker way, back after a cut, is one more frame ahead of what passed meanwhile.
        remembered = 1 if options.algorithm == "match" else options.history_length - 1
        if behind_ps >= remembered * 1000 * stream.period_ns:
            found.append(f"a copy of {name} may come behind {remembered} newer frames")
        if behind_ps >= 1000 * options.reset_ns:
            found.append(f"a copy of {name} may come when its number is forgotten")
    return found


def check_releases(given: Given) -> list[str]:
    """Release intervals are at least what the driver's mechanism needs (quantum; i210 comparator;
    paper floor).
    """
    found = []
    for stream in given.scenario.stream:
        entry, station = given.entry(stream.id), given.scenario.station_named(stream.talker)
        releases = given.releases_ns(stream.id)
        if releases[0] != entry["release_ns"] or not 0 <= entry["release_ns"] < stream.period_ns:
            found.append(f"release of {stream.id} is outside its period")
        if stream.period_ns != math.floor(given.periods_ns[stream.id]):
            found.append(f"the rate of {stream.id} is not that of its period")
        if stream.rate_hz is not None and len(releases) > 1:
            found += _check_rate(given, stream.id)
        elif max(releases) - min(releases) > (stream.jitter_ns or 0):
            found.append(f"releases of {stream.id} are further apart than its jitter allows")
        if stream.offset_ns not in ("auto", entry["release_ns"]):
            found.append(f"release of {stream.id} is not the offset asked for")
        place = given.leaves[stream.id]
        byte_ps = given.links[place][0]
        low_ps, high_ps = 0, 0
        if station.driver in ("keepon", "under-test"):
            low_ps, high_ps = -byte_ps // 2, byte_ps // 2
            own = of_port(given, place)
            if own is not None and own.most_slots > 1:
                # No slot is trimmed within the longest frame.
                planned = given.planned_at(stream.id)
                drifted_ps = own.most_slots * planned["slot_time_ps"] // 5_000
                low_ps, high_ps = low_ps - drifted_ps, high_ps + drifted_ps
            if station.keepon.mode == "paper":
                slot_ps = given.planned_at(stream.id)["slot_time_ps"]
                low_ps, high_ps = 8 * byte_ps - slot_ps, 8 * byte_ps
        elif entry["frame_bytes_on_wire"] != stream.frame_bytes:
            found.append(f"{stream.id} is sent with another length than its own")
        if station.driver == "launchtime":
            # A transmission begins with a byte of the wire, and a match may fall at any phase of
            # it. A frame that waits for its first byte at the match is sent completely before.
            even = (
                given.scenario.sync.mode == "ideal"
                and station.clock_ppm == station.wander_ppb_per_s == 0
            )
            sent_bytes = [128 + 20] if given.scenario.sync.by_ptp else [0]
            sent_bytes += [
                load.frame_bytes + 20
                for load, way in given.best_effort
                if (way[0], way[1]) == place
            ]
            high_ps = 32_000 + byte_ps + max(sent_bytes) * byte_ps
            # Eight bytes by the fastest allowed crystal, 1000 ppm, take less time than by an exact
            # one.
            fast_ps = 8 * byte_ps * 1_000_000 // 1_001_000
            # A launch is a whole ns, eight bytes before the txtime or just sooner.
            low_ps = 8 * byte_ps // -1000 * 1000 + 8 * byte_ps if even else fast_ps - 8 * byte_ps
        driver = "keepon" if station.driver == "under-test" else station.driver
        clock_ps = 1000 * given.scenario.clock_error_ns(station, driver)
        if driver == "keepon" and station.keepon.backend == "generic":
            # What a clock is off that counts frames which the card's driver gives back.
            clock_ps += 1000 * station.keepon.backend_error_ns
        low_ps, high_ps = low_ps - clock_ps, high_ps + clock_ps
        if entry["release_early_ps"] > low_ps or entry["release_late_ps"] < high_ps:
            found.append(f"release interval of {stream.id} is narrower than its driver can keep")
    return found


def _check_rate(given: Given, name: str) -> list[str]:
    """Frames of a rate leave within a slot of their exact instants, counted from the first."""
    releases_ps = [1000 * release_ns for release_ns in given.releases_ns(name)]
    period_ps = 1000 * given.periods_ns[name]
    station = given.scenario.station_named(given.streams[name].talker)
    least_ps = 32_000 if station.driver == "launchtime" else 1000
    slot_ps = given.planned_at(name).get("slot_time_ps", least_ps)
    if (len(releases_ps) * given.periods_ns[name]).denominator > 1:
        return [f"releases of {name} do not repeat with its rate"]
    for turn, release_ps in enumerate(releases_ps):
        exact_ps = releases_ps[0] + turn * period_ps
        if abs(given.start_ps(name, turn) + release_ps - exact_ps) > slot_ps:
            return [f"frame {turn} of {name} leaves more than a slot from its instant"]
    return []


def check_replay(given: Given, early: Replay, late: Replay) -> list[str]:
    """Every frame leaves every bridge in its window and reaches all listeners within the bounds."""
    found = []
    for window in given.windows:
        if window.stream not in early.looked_at:
            continue
        turns, cycle_ps = len(given.releases_ns(window.stream)), given.cycle_ps(window.stream)
        for replay, at_ps in ((early, window.open_ps), (late, window.last_ps)):
            for number in replay.numbers(window.stream):
                if number % turns == window.turn:
                    start_ps = replay.starts.get((window.stream, window.place, number))
                    if start_ps != number // turns * cycle_ps + at_ps:
                        found.append(
                            f"{window.stream} does not leave {window.place[0]} at its window"
                        )
                        break
    for name in early.looked_at:
        stream = given.streams[name]
        reached = [
            entry
            for listener in stream.listeners
            for entry in _arrived(given, name, listener, (early, late))
        ]
        known = [entry for entry in reached if entry is not None]
        if len(known) < len(reached):
            found.append(f"{name} does not reach all its listeners")
        else:
            found += _check_reached(given, stream, known)
    return found


def _arrived(
    given: Given, name: str, listener: str, replays: tuple[Replay, Replay]
) -> Iterator[_Reached | None]:
    """When frames of a hyperperiod arrived; None for a frame that did not arrive."""
    turns = len(given.releases_ns(name))
    for number in replays[0].numbers(name):
        early_ps, late_ps = (replay.arrivals.get((name, listener, number)) for replay in replays)
        if early_ps is None or late_ps is None:
            yield None
        else:
            moved_ps = given.start_ps(name, number)
            yield listener, number % turns, early_ps - moved_ps, late_ps - moved_ps


def check_steady(given: Given, steady: Steady, names: Iterable[str]) -> list[str]:
    """Every frame of these streams reaches all listeners within the bounds if all leave in their
    windows.
    """
    found = []
    for name in names:
        stream, reached = given.streams[name], []
        for listener in stream.listeners:
            for turn in range(len(given.releases_ns(name))):
                early_ps, late_ps = steady.arrivals[name, turn, listener]
                moved_ps = given.start_ps(name, turn)
                reached.append((listener, turn, early_ps - moved_ps, late_ps - moved_ps))
        found += _check_reached(given, stream, reached)
    return found


def _check_reached(given: Given, stream: Stream, reached: list[_Reached]) -> list[str]:
    releases_ps = [1000 * release_ns for release_ns in given.releases_ns(stream.id)]
    worst_ps = max(late_ps - releases_ps[turn] for _, turn, _, late_ps in reached)
    least_ps = min(early_ps - releases_ps[turn] for _, turn, early_ps, _ in reached)
    # Periods begin at whole ns, and the time between arrivals is compared with the exact one.
    period_ps = 1000 * given.periods_ns[stream.id]
    late_ps = [
        turn * period_ps - given.start_ps(stream.id, turn) for turn in range(len(releases_ps))
    ]
    spread_ps = Fraction(0)
    for listener in stream.listeners:
        own = [entry for entry in reached if entry[0] == listener]
        last_ps = max(entry[3] - late_ps[entry[1]] for entry in own)
        spread_ps = max(spread_ps, last_ps - min(entry[2] - late_ps[entry[1]] for entry in own))
    found = _compare(given, stream, max(0, worst_ps), math.ceil(spread_ps), least_ps)
    end_ps = _last_bit_ps(given, stream, reached)
    return found or _check_last_bit(given, stream, end_ps) or guests.check(given, stream, end_ps)


def _last_bit_ps(given: Given, stream: Stream, reached: list[_Reached]) -> int:
    """When the last bit comes at the latest: what the links to listeners add to arrivals."""
    releases_ns = given.releases_ns(stream.id)
    ends = [places(way)[-1] for way in given.ways(stream.id)]
    return max(
        late_ps + frame_ps(given, stream.id, end, 1) - 1000 * releases_ns[turn]
        for listener, turn, _, late_ps in reached
        for end in ends
        if end[1] == listener
    )


def _check_last_bit(given: Given, stream: Stream, last_ps: int) -> list[str]:
    """Check the bound to the last bit."""
    entry = given.entry(stream.id)
    bound_ns = entry.get("last_bit_ns")
    wanted = stream.deadline_at == "last_bit" and entry["bounds"]["delay_ns"] is not None
    if wanted != (bound_ns is not None):
        return [f"bound last_bit_ns of {stream.id} is {'missing' if wanted else 'not asked for'}"]
    if bound_ns is None:
        return []
    if not last_ps <= 1000 * bound_ns < last_ps + 1000:
        return [f"bound last_bit_ns of {stream.id} is not when its last bit arrives"]
    if stream.deadline_ns is not None and bound_ns > stream.deadline_ns:
        return [f"{stream.id} misses the deadline of its last bit"]
    return []


def _compare(
    given: Given, stream: Stream, worst_ps: int, spread_ps: int, least_ps: int
) -> list[str]:
    name, entry = stream.id, given.entry(stream.id)
    if worst_ps != entry["delay_planned_ps"] or worst_ps != sum_ps(entry["terms"]):
        return [f"delay of {name} is {worst_ps} ps, the plan says {entry['delay_planned_ps']}"]
    bounds = entry["bounds"]
    talker = given.scenario.station_named(stream.talker)
    early = talker.driver == "launchtime" and not keeps_times(given, talker)
    unbounded = early or given.scenario.sync.mode == "none" or talker.driver == "standard"
    earliest_ns = None if unbounded else least_ps // 1000
    # Plans of earlier versions may lack it.
    if (promised_ns := bounds.get("delay_min_ns", earliest_ns)) != earliest_ns:
        return [f"bound delay_min_ns of {name} is {promised_ns}, must be {earliest_ns or 'none'}"]
    if "padding_ps" in entry and entry["padding_ps"] != _padding_ps(given, stream):
        return [f"padding_ps of {name} is not its padding"]
    delay_ns, jitter_ns = bounds["delay_ns"], bounds["jitter_ns"]
    release_ns = bounds["release_error_ns"]
    timed = (
        talker.driver != "standard"
        and not early
        and (talker.driver != "launchtime" or keeps_windows(given, stream))
        and talker.release != "sleep"
        and given.scenario.sync.mode != "none"
    )
    if timed != (delay_ns is not None):
        return [
            f"bound delay_ns of {name} is"
            f" {'missing' if timed else 'promised for a talker that keeps no time'}"
        ]
    if delay_ns is None:
        return []
    if jitter_ns is None or release_ns is None:
        return [f"a bound of {name} is missing beside that of its delay"]
    found = []
    if not worst_ps <= 1000 * delay_ns < worst_ps + 1000:
        found.append(f"bound delay_ns of {name} is not its delay")
    if not spread_ps <= 1000 * jitter_ns < spread_ps + 1000:
        found.append(f"bound jitter_ns of {name} is not its spread")
    error_ps = max(-entry["release_early_ps"], entry["release_late_ps"])
    if not error_ps <= 1000 * release_ns < error_ps + 1000:
        found.append(f"bound release_error_ns of {name} is not its release error")
    if bounds["data_age_ns"] != delay_ns + stream.advance_ns:
        found.append(f"bound data_age_ns of {name} is not delay plus advance")
    asked_ns = {
        "delay_ns": (delay_ns, stream.deadline_ns),
        "jitter_ns": (jitter_ns, stream.jitter_ns),
    }
    for key, (bound_ns, limit_ns) in asked_ns.items():
        if limit_ns is not None and bound_ns > limit_ns:
            found.append(f"{name} misses the {key} asked for")
    return found


def sum_ps(terms: DelayTerms) -> int:
    """What the terms of a delay add up to."""
    return (
        terms["frame_ps"]
        + terms["processing_ps"]
        + terms["propagation_ps"]
        + terms["preamble_ps"]
        + terms["quantum_ps"]
        + terms["clock_ps"]
        + terms["held_ps"]
        + terms["blocked_ps"]
    )


def _padding_ps(given: Given, stream: Stream) -> int:
    """Time that padding adds on the route to the furthest listener, except on the last wire."""
    padding_bytes: int = given.entry(stream.id)["frame_bytes_on_wire"] - stream.frame_bytes
    return max(
        sum(padding_bytes * given.links[place][0] for place in places(way)[:-1])
        for way in given.ways(stream.id)
    )
