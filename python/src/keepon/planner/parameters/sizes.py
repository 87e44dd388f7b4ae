# SPDX-License-Identifier: BSD-3-Clause
"""Slot sizes that a station tries, in order: first those that hold whole frames, then those of
which a frame takes several; and the refusal if there is none.
"""

from __future__ import annotations

import math
from fractions import Fraction

from keepon.errors import ConfigError
from keepon.model.rates import near
from keepon.model.scenario import Stream
from keepon.model.slotting import lengths
from keepon.model.spans import Spans
from keepon.model.wire import FRAME_BYTES_MAX, OVERHEAD_BYTES, PS_PER_NS, byte_time_ps
from keepon.planner.parameters import asks, partitions, posting, slots
from keepon.planner.parameters.asks import AskError
from keepon.planner.parameters.needs import Choice, Needs
from keepon.planner.parameters.partitions import Chosen


def choose(needs: Needs) -> tuple[Choice, Chosen]:
    """The first slot length that ring, polls and advances allow and that has a partition."""
    sizes = candidates(needs)
    if not sizes:
        raise _no_slot(needs)
    choices, refusals = dict[int, Choice](), dict[int, AskError]()

    def serves(size: int) -> bool:
        if size not in choices and size not in refusals:
            try:
                choice = posting.choose(needs, size)
                posting.check_advances(needs, choice)
                choices[size] = choice
            except AskError as error:
                refusals[size] = error
        return size in choices

    first = next(filter(serves, sizes), None)
    if first is None:
        raise asks.nearest(refusals.values())
    chosen = partitions.choose(needs, sizes, choices[first].ring_slots, serves)
    return choices[chosen.slot_bytes], chosen


def candidates(needs: Needs) -> list[int]:
    """Slot lengths to try, in order: those of which every frame takes one, shortest first; then,
    where frames may take several slots, the other lengths, cheapest first.
    """
    options = needs.station.keepon
    if options.slot_bytes != "auto":
        return [int(options.slot_bytes)]
    if needs.sizes:
        return [*needs.sizes]
    _, largest = needs.longest_flow
    if needs.paper:
        return [max(largest, posting.least_slot_bytes(needs))]
    common_ps = math.gcd(*(stream.cycle_ns * PS_PER_NS for _, stream in needs.streams))
    least = _least_whole_bytes(needs)
    found = slots.candidates(
        common_ps, _least_bytes(needs), needs.rate_bps, _longest_slot_bytes(needs)
    )
    shorter = [size for size in found if size < least]
    whole = found[len(shorter) :]
    return [*whole, *sorted(shorter, key=lambda size: _cost(needs, size))]


def _least_whole_bytes(needs: Needs) -> int:
    """Shortest slot that holds every frame that leaves here whole, even at the longest downward
    trim.
    """
    options = needs.station.keepon
    trimmed_bytes = options.trim_down_bytes if options.trim == "any" else 0
    return needs.longest_flow[1] + trimmed_bytes


def _least_bytes(needs: Needs) -> int:
    """Shortest possible slot."""
    return max(_least_whole_bytes(needs) if _is_whole(needs) else 0, _shortest_slot_bytes(needs))


def _is_whole(needs: Needs) -> bool:
    """Whether the longest frame that leaves here must fit one slot."""
    stated = needs.station.keepon.frame_bytes_max
    most = FRAME_BYTES_MAX if stated == "auto" else int(stated)
    return needs.counted or needs.longest_flow[1] > most


def _cost(needs: Needs, slot_bytes: int) -> tuple[bool, Fraction, int, int]:
    """Cost of a slot length for sorting: lengths with one slot per frame first; then the share of
    the wire that streams take; then that of the longest frame; of equal ones the longest slot.
    """
    spans = needs.spans(slot_bytes)
    counts = [(spans.of(stream.frame_bytes).slots, stream) for _, stream in needs.streams]
    share = sum((Fraction(count, stream.period_ns) for count, stream in counts), Fraction(0))
    several = any(count > 1 for count, _ in counts)
    return several, share * spans.wire_bytes, spans.slots_max * spans.wire_bytes, -slot_bytes


def _shortest_slot_bytes(needs: Needs) -> int:
    """Shortest slot whose trimmed remainder is still a frame that the NIC fetches in time."""
    return max(lengths(needs.station.keepon)[0], posting.least_slot_bytes(needs))


def _longest_slot_bytes(needs: Needs) -> int:
    """Longest slot that is still a frame at the longest upward trim."""
    return lengths(needs.station.keepon)[-1]


def check_lengths(needs: Needs, spans: Spans) -> None:
    """Refuse a stated slot length shorter than a frame of the station, if frames take one slot
    each.
    """
    stated = needs.station.keepon.frame_bytes_max
    one_slot = 'in mode "paper" a frame has one slot' if needs.paper else None
    if needs.counted:
        one_slot = 'a station that counts slots by clock "dual" is at the other end of the link'
    if one_slot and stated != "auto" and int(stated) > spans.slot_bytes:
        raise needs.wrong(
            "frame_bytes_max",
            stated,
            f'must be "auto" or at most {spans.slot_bytes}, as {one_slot}; lower it, or choose'
            f" another {'mode' if needs.paper else 'clock there'}",
        )
    key, largest = needs.longest_flow
    if spans.of(largest).slots:
        return
    if largest == needs.message_bytes:
        trimmed_bytes = spans.slot_bytes - spans.single_bytes
        raise needs.wrong(
            "slot_bytes",
            spans.slot_bytes,
            f"must be between {largest + trimmed_bytes} and 1522, as the station sends messages of"
            f" PTP of up to {largest} bytes, trims take {trimmed_bytes}, and"
            f' {one_slot or f"its frame_bytes_max is {stated}"}; choose a longer slot or "auto"',
        )
    raise ConfigError(
        f"key `{key} = {largest}: must be at most {max(spans.single_bytes, spans.frame_bytes_max)},"
        f' as slots of station "{needs.name}" have {spans.slot_bytes} bytes and'
        f" {one_slot or f'its frame_bytes_max is {stated}'}; choose a longer keepon.slot_bytes"
        f"{'' if one_slot else ' or frame_bytes_max'}, or shorter frames"
    )


def _no_slot(needs: Needs) -> ConfigError:
    """Why no slot length serves, neither for whole frames nor for frames of several slots."""
    longest, shortest = _longest_slot_bytes(needs), _shortest_slot_bytes(needs)
    if shortest > longest:
        return ConfigError(
            f'key `station[{needs.index}].nic.fetch_ns` (station "{needs.name}") ='
            f" {needs.nic.fetch_ns}: must be less at {needs.rate_bps} bits a second, as no slot is"
            f" longer than {longest} bytes and the NIC would fetch frames more slowly than"
            " they leave; choose a lower rate_bps of its link or more nic.prefetch_slots"
        )
    options, (key, largest) = needs.station.keepon, needs.longest_flow
    trimmed_bytes = _least_whole_bytes(needs) - largest
    if _is_whole(needs) and largest + trimmed_bytes > longest:
        room, remedy = longest - trimmed_bytes, ""
        several = f"its frame_bytes_max is {options.frame_bytes_max}"
        if needs.counted:
            several = 'a station that counts its slots by clock "dual" is at the other end'
        elif largest > FRAME_BYTES_MAX:
            room, several = FRAME_BYTES_MAX, "no frame of driver keepon is longer"
        else:
            room = max(room, int(options.frame_bytes_max))
            remedy = ' or frame_bytes_max "auto"'
        return ConfigError(
            f"key `{key} = {largest}: must be at most {room}, as the longest slot of station"
            f' "{needs.name}" has {longest} bytes, trims take {trimmed_bytes}, and {several};'
            f" choose shorter frames{remedy}"
        )
    return _no_slot_time(needs)


def _no_slot_time(needs: Needs) -> ConfigError:
    """The first stream with which no slot time divides all periods of the station, and what would
    fit.
    """
    least_bytes = _least_bytes(needs)
    longest, common_ps, before_ps = _longest_slot_bytes(needs), 0, 0
    for index, stream in needs.streams:
        before_ps, common_ps = common_ps, math.gcd(common_ps, stream.cycle_ns * PS_PER_NS)
        if not slots.candidates(common_ps, least_bytes, needs.rate_bps, longest):
            fitting = _fitting(needs, least_bytes, before_ps, stream)
            byte_ns = byte_time_ps(needs.rate_bps) / PS_PER_NS
            return ConfigError(
                f'key `stream[{index}].period_ns` (stream "{stream.id}") = {stream.period_ns}: must'
                f' be a multiple of a slot time that divides all periods of station "{needs.name}"'
                f" (common divisor {common_ps // PS_PER_NS} ns), and of those from"
                f" {(least_bytes + OVERHEAD_BYTES) * byte_ns:.15g} to"
                f" {(longest + OVERHEAD_BYTES) * byte_ns:.15g} ns, in steps of a byte's"
                f" {byte_ns:.15g} ns, none does; choose {', '.join([*fitting, ''])}or slot_bytes"
                ' and mode "paper"'
            )
    raise AssertionError("some slot time fits")


def _fitting(needs: Needs, least_bytes: int, before_ps: int, stream: Stream) -> list[str]:
    """Changes with which a slot exists: shorter frames, another period of a stream, or several
    slots a frame.

    Args:
        least_bytes: shortest slot that holds the frames.
        before_ps: greatest common divisor of the periods of the streams before.
    """
    options, rate_bps, longest = needs.station.keepon, needs.rate_bps, _longest_slot_bytes(needs)
    trimmed_bytes = options.trim_down_bytes if options.trim == "any" else 0
    common_ps = math.gcd(before_ps, stream.cycle_ns * PS_PER_NS)
    shorter = slots.candidates(common_ps, _shortest_slot_bytes(needs), rate_bps, least_bytes)
    found = [f"frames of at most {shorter[-1] - trimmed_bytes} bytes"] if shorter else []
    sizes = slots.candidates(before_ps, least_bytes, rate_bps, longest)
    nearest = _nearest_periods_ns(stream.period_ns, sizes, byte_time_ps(rate_bps))
    if nearest:
        found.append(f"period_ns = {' or '.join(map(str, nearest))}")
    if found and stream.rate_hz is None and (exactly := near(stream.period_ns)):
        found.append(f"rate_hz = {exactly} in place of period_ns")
    if shorter and not needs.counted:
        found.append('frame_bytes_max = "auto"')
    return found


def _nearest_periods_ns(period_ns: int, sizes: list[int], byte_ps: int) -> list[int]:
    """Of the multiples of slot times in whole ns the nearest to a period, from below and above."""
    found = {
        count * time_ps // PS_PER_NS
        for time_ps in ((size + OVERHEAD_BYTES) * byte_ps for size in sizes)
        for below in (period_ns * PS_PER_NS // time_ps,)
        for count in (below, below + 1)
        if count and count * time_ps % PS_PER_NS == 0
    }
    below_ns = max((each for each in found if each <= period_ns), default=None)
    above_ns = min((each for each in found if each > period_ns), default=None)
    return [each for each in (below_ns, above_ns) if each is not None]
