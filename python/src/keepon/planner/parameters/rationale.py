# SPDX-License-Identifier: BSD-3-Clause
"""The parameter guide of KeepON paper section A.10 for one station, in short lines: parameter,
value, reason (G1 to G15).

Values are calculated unless a line says that they are calibrated or stated. Lines begin with
"warning:" where no guarantee covers a value; nothing here changes a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from keepon.model.plan import Headroom, Reason
from keepon.model.scenario import HostTable
from keepon.model.wire import PS_PER_NS
from keepon.planner.parameters import lead, polls, slots
from keepon.planner.parameters.isolation import FEASIBLE
from keepon.planner.parameters.needs import Choice, Needs
from keepon.planner.parameters.partitions import Chosen
from keepon.planner.parameters.posting import granularity_ns

CPU_SHARE_HIGH = 0.5
"""CPU share from which the poll thread is said to need a core of its own: chosen."""
NAMED_MAX = 20
"""Streams named at most in one warning."""
EFFICIENCY_LOW = 0.5
"""Share of a slot below which most of what streams own is padding: chosen."""


_WAIT_FRAMES_MAX = 20_000


def _line(rule: str, quantity: str, why: str) -> Reason:
    return {"rule": rule, "quantity": quantity, "why": why}


def _us(time_ns: float) -> str:
    return f"{time_ns / 1000:.15g} us"


def lines(
    needs: Needs, choice: Choice, chosen: Chosen, releases_ns: dict[str, int], headroom: Headroom
) -> list[Reason]:
    """The reasons for a station's parameters.

    Args:
        releases_ns: release of each stream of the station within its period, by id.
        headroom: the headroom of the station in the plan.

    Returns:
        rows of rule (the requirement's short name in docs/planner.md), quantity with figures, and
        reason.
    """
    return [
        *_slot(needs, choice, chosen),
        *_partition(needs, choice, chosen, headroom),
        *_batch(needs, choice),
        *_polling(needs, choice, headroom),
        *_lead(needs, choice, releases_ns),
        *_clock(needs, choice),
        *_offload(needs, choice, headroom),
    ]


def _holds_all(needs: Needs, slot_bytes: int) -> bool:
    """Whether every frame that leaves here takes one slot of this length."""
    return needs.longest_flow[1] <= needs.spans(slot_bytes).single_bytes


def _slot(needs: Needs, choice: Choice, chosen: Chosen) -> Iterator[Reason]:
    options, posting = needs.station.keepon, choice.posting
    quantity = f"slot {choice.slot_bytes} bytes = {_us(posting.slot_ps / PS_PER_NS)}"
    if options.slot_bytes != "auto":
        runs = "slots run free" if needs.paper else "releases are multiples of it"
        yield _line("G1", quantity, f"stated; {runs}")
    elif needs.paper:
        free = "slots run free, so no period need be a multiple of it"
        yield _line("G12", quantity, f"the longest frame; {free}")
    elif not needs.streams:
        asked = "the longest load" if needs.loads else "room for MTU 1500, if there is any"
        yield _line("G12", quantity, f"{asked}; no stream asks for less")
    else:
        yield from _chosen_slot(needs, choice, chosen, quantity)
    if not needs.streams:
        return
    frames = {stream.id: stream.frame_bytes for _, stream in needs.streams}
    least = min(frames, key=lambda name: frames[name])
    spans = choice.spans
    share = [slots.payload_efficiency(size, spans.row_bytes(size)) for size in frames.values()]
    mean = float(sum(share)) / len(share)
    fill = f"frames fill {100 * mean:.0f} % of their slots"
    if min(share) != max(share):
        fill += f', "{least}" {100 * float(min(share)):.0f} %'
    why = "a frame takes whole slots whatever its length; the batch changes nothing"
    yield _line("G4", fill, why)
    most = max(frames, key=lambda name: spans.of(frames[name]).slots)
    if (count := spans.of(frames[most]).slots) > 1:
        row = f'"{most}" takes {count} slots in a row'
        yield _line("G10", row, "no slot that holds it whole serves")


def _chosen_slot(needs: Needs, choice: Choice, chosen: Chosen, quantity: str) -> Iterator[Reason]:
    """Why this length of all that serve."""
    common_ns = math.gcd(*(stream.cycle_ns for _, stream in needs.streams))
    whole = _holds_all(needs, choice.slot_bytes)
    alike = [size for size in chosen.sizes if _holds_all(needs, size) == whole]
    position = alike.index(choice.slot_bytes)
    others = ", ".join(map(str, alike[position + 1 : position + 4])) or "none"
    first = "shortest" if whole else "cheapest"
    why = (
        f"{first if not position else f'number {position + 1}'} of {len(alike)} that hold every"
        f" frame and divide the periods' common {_us(common_ns)} (next: {others}); shorter means"
        " finer and less padding"
    )
    yield _line("G9", quantity, f"{why}, but a frame takes one of them" if whole else why)
    ruled = [(size, count) for size, count in chosen.tried if size != choice.slot_bytes]
    if ruled:
        named = ", ".join(f"{size} bytes with {count} slots" for size, count in ruled[:3])
        yield _line("G10", f"{len(ruled)} pairs ruled out", f"no isolation with {named}")
    before = chosen.sizes[: chosen.sizes.index(choice.slot_bytes)]
    if other := [str(size) for size in before if size not in dict(ruled)]:
        why = f"ring, polls or an advance_ns do not allow {', '.join(other[:3])} bytes"
        yield _line("G2", f"{len(other)} slots ruled out", why)


def _partition(
    needs: Needs, choice: Choice, chosen: Chosen, headroom: Headroom
) -> Iterator[Reason]:
    left = f"{headroom['best_effort_bps'] / 1e6:.1f} Mbit/s left to best effort"
    quantity = f"partition {chosen.partition_slots} slots; {left}"
    if chosen.verdict is None:
        yield _line("G8", quantity, "paper mode: slots are not on the grid")
        return
    periods = [stream.cycle_ns * PS_PER_NS // choice.posting.slot_ps for _, stream in needs.streams]
    waste = float(slots.lost_share(set(periods), chosen.partition_slots))
    if needs.station.keepon.partition_slots != "auto":
        why = "stated"
    elif not periods:
        why = "no stream needs a slot"
    elif waste:
        why = "the divisor of the periods' least common multiple that wastes least"
    else:
        why = "the periods' least common multiple"
        if (times := chosen.partition_slots // math.lcm(*periods)) > 1:
            why += f", {times} times, as one slot of so many is enough for trims"
    if periods:
        shown = chosen.verdict.answer == FEASIBLE
        by = f"shown by {chosen.verdict.method}" if shown else "left to the planner of the network"
        why += f"; isolation {by}"
    yield _line("G8", quantity, why)
    if waste:
        unused = f"{100 * waste:.1f} % of the slots are owned and not used"
        yield _line("G8", unused, "the partition is no multiple of every period")
    if not chosen.best_effort_met:
        why = "no slot size and partition leave best effort what its loads send"
        yield _line("G8", "warning: less than the loads ask for", why)


def _batch(needs: Needs, choice: Choice) -> Iterator[Reason]:
    posting, is_stated = choice.posting, needs.station.keepon.batch_slots != "auto"
    quantity = (
        f"batch {posting.batch_slots} of ring {choice.ring_slots}, depth {posting.depth_slots}"
    )
    largest = f"the largest power of two that serves: {choice.limited_by}"
    yield _line("G11", quantity, "stated" if is_stated else largest)


def _polling(needs: Needs, choice: Choice, headroom: Headroom) -> Iterator[Reason]:
    posting, host = choice.posting, needs.host
    interval_ns = polls.interval_ns(posting, needs.nic)
    slack_ns = polls.slack_ns(posting, needs.nic)
    yield _line(
        "G14",
        f"a poll every {_us(interval_ns)}, budget {_us(posting.batch_ns)}; it may come"
        f" {_us(slack_ns)} late",
        f"the host's polls usually come {_us(host.poll_late_usual_ns)} late at most",
    )
    costs = f"a poll costs {_us(host.poll_cost_ns)} ({host.poll_cost_source})"
    share = f"{100 * headroom['cpu_share']:.1f} % of the polling core"
    yield _line("G5", share, f"{costs}; power follows the share")
    if slack_ns < host.poll_late_worst_ns:
        late = f"the latest poll, {_us(host.poll_late_worst_ns)} late, lets the wire run dry"
        why = "raise depth_slots or ring_slots; frames then take new slots"
        yield _line("G14", f"warning: {late}", why)
    if posting.batch_ns < host.poll_cost_ns + host.poll_late_usual_ns:
        lasts = f"a batch lasts {_us(posting.batch_ns)}, a poll {_us(host.poll_cost_ns)}"
        why = "the thread never sleeps long; more is posted than a batch, so the wire keeps busy"
        yield _line("G15", f"warning: {lasts}", why)


def _lead(needs: Needs, choice: Choice, releases_ns: dict[str, int]) -> Iterator[Reason]:
    if not needs.streams:
        return
    count = lead.lead_slots(choice.posting)
    why = (
        f"{count} slots that can no longer be changed, what one reading of the index leaves open, a"
        " poll under way"
    )
    yield _line("G2", f"lead time {_us(choice.lead_ns)}", why)
    if needs.way is None:
        return
    tightest = min((stream for _, stream in needs.streams), key=lambda stream: stream.advance_ns)
    needed_ns = lead.least_advance_ns(choice.lead_ns, needs.way)
    yield _line(
        "G2",
        f"advance at least {_us(needed_ns)}, smallest stated {_us(tightest.advance_ns)}",
        f"the host usually brings a frame in {_us(needs.way.usual_ns)}, in"
        f" {_us(needs.way.worst_ns)} at worst; a longer advance makes data older",
    )
    worst_ns = choice.lead_ns + needs.way.worst_ns
    if short := [stream for _, stream in needs.streams if stream.advance_ns < worst_ns]:
        chance = lead.late_probability(tightest.advance_ns, choice.lead_ns, needs.way, needs.host)
        named = ", ".join(f'"{stream.id}"' for stream in short[:NAMED_MAX])
        in_time = advances_in_time_ns(needs, choice, releases_ns)
        enough_ns = max(in_time.get(stream.id, worst_ns) for stream in short)
        yield _line(
            "G2",
            f"warning: about {chance:.1e} of the frames of {named} come late",
            "by the tail of the host's model, whose probability is chosen; raise advance_ns to "
            f"{enough_ns}",
        )
    yield from _waits(needs, releases_ns, needed_ns)


def _waits(needs: Needs, releases_ns: dict[str, int], needed_ns: int) -> Iterator[Reason]:
    """Frames handed over at the same time pass the driver one after another."""
    waits = driver_waits_ns(needs, releases_ns)
    if waits is None:
        quantity = f"warning: the wait for the driver of {len(needs.streams)} streams is not known"
        why = "their periods repeat together after too many frames to go through"
        yield _line("G2", quantity, why)
        return
    worst = max(waits, key=lambda name: waits[name], default="")
    if not worst or not waits[worst]:
        return
    short = [
        stream.id for _, stream in needs.streams if stream.advance_ns < needed_ns + waits[stream.id]
    ]
    quantity = f'"{worst}" waits up to {_us(waits[worst])} for the driver'
    why = f"one frame takes it {_us(needs.host.occupancy_ns)}, and others are handed over before it"
    if short:
        longest_ns = needed_ns + max(waits[name] for name in short)
        quantity = f"warning: {quantity}; {', '.join(short[:NAMED_MAX])} may be late"
        why += f"; raise advance_ns to {longest_ns}"
    yield _line("G2", quantity, why)


def advances_in_time_ns(
    needs: Needs, choice: Choice, releases_ns: dict[str, int]
) -> dict[str, int]:
    """advance_ns of each stream with which the worst that the host's model knows is in time; empty
    where a qdisc holds frames back, whose own times decide then.
    """
    if needs.way is None or needs.way.limit_ns is not None:
        return {}
    waits = driver_waits_ns(needs, releases_ns) or {}
    return {
        stream.id: choice.lead_ns + needs.way.worst_ns + waits.get(stream.id, 0)
        for _, stream in needs.streams
    }


def driver_waits_ns(needs: Needs, releases_ns: dict[str, int]) -> dict[str, int] | None:
    """The longest wait of each stream's frame for frames before it in the driver, without the
    spread of the host. Frames of the station's other ports count as if they passed the same driver.

    None: the periods repeat together only after too many frames.
    """
    every = (*(stream for _, stream in needs.streams), *needs.beside)
    streams = [stream for stream in every if stream.id in releases_ns]
    cycle_ns = math.lcm(*(stream.cycle_ns for stream in streams))
    frames = {stream.id: cycle_ns // stream.cycle_ns * stream.turns for stream in streams}
    if sum(frames.values()) > _WAIT_FRAMES_MAX:
        return None
    handed = sorted(
        (stream.begin_ns(number) + releases_ns[stream.id] - stream.advance_ns, stream.id)
        for stream in streams
        for number in range(frames[stream.id])
    )
    waits = {stream.id: 0 for _, stream in needs.streams if stream.id in releases_ns}
    free_ns = -(10**18)
    # Two cycles: the second includes what the first leaves at its end.
    for lap in (0, cycle_ns):
        for at_ns, name in handed:
            start_ns = max(at_ns + lap, free_ns)
            if name in waits:
                waits[name] = max(waits[name], start_ns - at_ns - lap)
            free_ns = start_ns + needs.host.occupancy_ns
    return waits


def _clock(needs: Needs, choice: Choice) -> Iterator[Reason]:
    if choice.sync_error_ns is None or needs.budget_ns is None or not needs.streams:
        return
    read = "counter" if needs.paper else needs.station.keepon.clock
    quantity = (
        f"one offset off by at most {_us(choice.sync_error_ns)} (Eq. 4), clock error stated"
        f" {_us(needs.budget_ns)}"
    )
    why = (
        f'a clock read as "{read}" leaves {_us(round(granularity_ns(needs, choice)))} open, stamps'
        " of received frames vary by the rest"
    )
    if choice.sync_error_ns > needs.budget_ns:
        why += ", of which the servo leaves half: every run checks what is stated"
    yield _line("G3", quantity, why)


def _offload(needs: Needs, choice: Choice, headroom: Headroom) -> list[Reason]:
    """Reasons for hardware with launch times at this station; if there are none, one for keepon."""
    found: list[tuple[str, str]] = []
    host = needs.station.host
    base = host.base if isinstance(host, HostTable) else host
    if base == "tsn-end-station":
        why = f'host "{base}" has a NIC with launch times, which needs no core and pads nothing'
        found.append(('advice: driver = "launchtime"', why))
    slot_ns = choice.posting.slot_ps // PS_PER_NS
    streams = [stream for _, stream in needs.streams]
    fine = [each for each in streams if each.jitter_ns is not None and each.jitter_ns < slot_ns]
    if needs.paper and fine:
        why = (
            f'"{fine[0].id}" allows {fine[0].jitter_ns} ns of jitter, free-running slots drift by'
            f" {slot_ns} ns"
        )
        found.append(('advice: mode = "phase-locked", or a NIC with launch times', why))
    if close := [stream for stream in streams if stream.period_ns < 2 * slot_ns]:
        why = (
            f'"{close[0].id}" has a period of {close[0].period_ns} ns, hardly more than a slot of'
            f" {slot_ns} ns"
        )
        found.append(("advice: a NIC with launch times, or shorter frames", why))
    share = headroom["cpu_share"]
    if share > CPU_SHARE_HIGH:
        why = (
            f"the poll thread takes {100 * share:.0f} % of one; longer slots or a larger advance"
            " would lower it"
        )
        found.append(("advice: a NIC with launch times unless a core is idle", why))
    used = [
        slots.payload_efficiency(stream.frame_bytes, choice.spans.row_bytes(stream.frame_bytes))
        for stream in streams
    ]
    if used and float(sum(used)) / len(used) < EFFICIENCY_LOW:
        why = f"padding to {choice.slot_bytes} bytes takes most of what its streams own"
        found.append(("advice: a NIC with launch times, or frames that fill the slot", why))
    serves = (
        f"{100 * share:.0f} % of one core, no special NIC; where no core is idle a NIC with launch"
        " times is better"
    )
    return [_line("G13", *each) for each in found or [("keepon serves", serves)]]
