# SPDX-License-Identifier: BSD-3-Clause
"""Per-stream filtering and policing of bridges (PSFP): their tables, and what must fit together.

IEEE Std 802.1Q-2022 clauses 8.6.5.2 to 8.6.5.5, of which IEEE Std 802.1Qci-2017 was the amendment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from keepon.model.fields import Name, NameList, Whole
from keepon.model.tables import POSITIVE, SECOND_NS, Table

if TYPE_CHECKING:
    from keepon.model.scenario import Bridge, Load, Scenario, Stream

RATE_BPS_MAX = 100_000_000_000
PLACES = (" maximum SDU size", " stream gate ", " flow meter ")
"""What the name of a place has in it where a filter drops frames."""
PLANNED = "of the plan for "
"""How the name of a stream gate begins that the plan has."""
TAGGED_OVERHEAD_BYTES = 22
"""Addresses, tag, EtherType and FCS: what a frame has beside its MSDU."""


class StreamGateEntry(Table):
    """An entry of a stream gate's list."""

    open: bool = True
    """Whether frames pass."""
    ns: Annotated[int, Whole(1, 100 * SECOND_NS)]
    """How long, in ns."""
    priority: Annotated[int, Whole(0, 7, remedy="an internal priority value is 0 to 7")] | None = (
        None
    )
    """Internal priority value (IPV): chooses the traffic class of frames that pass, in this bridge
    alone. Left out: their own priority does. No frame of a stream may change class, nor enter one
    that streams have, because plans know nothing of it."""
    octets: Annotated[int, Whole(0, 4_294_967_295)] | None = None
    """Octets of MSDUs that pass in one such interval: 22 less for each frame than it has with tag
    and FCS. Left out: any number."""


class StreamGate(Table):
    """A stream gate: passes frames by a schedule, on the bridge's clock, by when their last bit
    arrives.
    """

    base_ns: Annotated[int, Whole(0, 2**62, remedy=POSITIVE)] = 0
    """Network time in ns at which a cycle begins."""
    entries: list[StreamGateEntry] = Field(min_length=1, max_length=4_096)
    """Entries in order; together they are the cycle, which repeats."""
    close_on_invalid_rx: bool = False
    """Whether a frame that arrives while it is shut shuts it for good
    (GateClosedDueToInvalidRx)."""
    close_on_octets_exceeded: bool = False
    """Whether a frame beyond `octets` shuts it for good (GateClosedDueToOctetsExceeded)."""


class FlowMeter(Table):
    """A flow meter: the two buckets of MEF 10.3, both full at the start. It counts frames with
    header and FCS; frames that fit neither bucket are red, and lost.
    """

    cir_bps: Annotated[int, Whole(0, RATE_BPS_MAX)]
    """Committed rate in bits a second: frames within it are green."""
    cbs_bytes: Annotated[int, Whole(0, 4_294_967_295)]
    """Committed burst in bytes, at least the longest frame."""
    eir_bps: Annotated[int, Whole(0, RATE_BPS_MAX)] = 0
    """Excess rate in bits a second: frames within it, and not within the committed one, are
    yellow."""
    ebs_bytes: Annotated[int, Whole(0, 4_294_967_295)] = 0
    """Excess burst in bytes."""
    coupling: bool = False
    """Whether what the committed bucket cannot hold goes into the excess one."""
    color_aware: bool = False
    """Whether frames that are drop eligible on the wire are yellow at best."""
    drop_on_yellow: bool = False
    """Whether yellow frames are lost; if not, they are drop eligible from here on."""
    mark_all_red: bool = False
    """Whether all frames are red once one was (MarkAllFramesRed)."""


class StreamFilter(Table):
    """A stream filter. The first one whose stream and priority a frame has decides; a frame that
    none has is forwarded.
    """

    streams: Annotated[list[str], NameList(0, 4_096)] = Field(default_factory=list)
    """Streams and loads whose frames it takes, by destination address and VLAN (null stream
    identification, IEEE Std 802.1CB-2017 clause 6.4)."""
    source: Annotated[str, Name()] | None = None
    """Station whose frames it takes, by source address and VLAN (clause 6.5). Left out, and without
    `streams`: it takes all frames but those for the bridge itself."""
    priority: Annotated[int, Whole(0, 7)] | None = None
    """Priority (PCP) of frames it takes. Left out: any."""
    max_sdu_bytes: Annotated[int, Whole(0, 9_000)] | None = None
    """Longest MSDU in bytes: 22 less than the frame with tag and FCS. Left out: any."""
    block_oversize: bool = False
    """Whether a longer one blocks the filter for good (StreamBlockedDueToOversizeFrame)."""
    gate: Annotated[str, Name()] | None = None
    """One of `stream_gate`. Left out: none."""
    meter: Annotated[str, Name()] | None = None
    """One of `flow_meter`. Left out: none."""


def streams_of(scenario: Scenario, entry: StreamFilter) -> list[str]:
    """Ids of the streams and loads that a filter takes; empty: of all, those of PTP included."""
    return [
        flow.id
        for flow in _flows(scenario)
        if flow.id in entry.streams or flow.talker == entry.source
    ]


def _flows(scenario: Scenario) -> list[Stream | Load]:
    return [*scenario.stream, *scenario.load]


def wrong_filter(scenario: Scenario, bridge: int, place: int) -> tuple[str, Any, str] | None:
    """Key, value and rule of what is wrong with a filter; None if nothing is."""
    owner = scenario.bridge[bridge]
    entry = owner.stream_filter[place]
    key = f"bridge[{bridge}].stream_filter[{place}]"
    flows = [flow.id for flow in _flows(scenario)]
    stations = [station.name for station in scenario.station]
    for name, value, known, what in (
        *(
            (f"streams[{index}]", each, flows, "stream or load")
            for index, each in enumerate(entry.streams)
        ),
        ("source", entry.source, stations, "station"),
        ("gate", entry.gate, list(owner.stream_gate), "stream gate of this bridge"),
        ("meter", entry.meter, list(owner.flow_meter), "flow meter of this bridge"),
    ):
        if value is not None and value not in known:
            return f"{key}.{name}", value, f"no such {what}; it has {', '.join(known) or 'none'}"
    if entry.streams and entry.source is not None:
        return (
            f"{key}.source",
            entry.source,
            "a frame is identified by its destination (`streams`) or by its source; leave one out",
        )
    if entry.source is not None and not streams_of(scenario, entry):
        return f"{key}.source", entry.source, "sends nothing; name the talker of a stream or load"
    return _wrong_priority(scenario, bridge, place)


def _in_way(bridge: Bridge, lowest: int, own: int, new: int) -> bool:
    """Whether a load in another class is more in the way of streams, whose lowest class it is, than
    a plan by the priority of its frames knows.
    """
    if lowest > 7:
        return False
    merged = {bridge.class_of(priority) for priority in bridge.preemptable or []}
    if own in merged and new not in merged:
        return True
    buffers = bridge.cqf_buffers if bridge.gates == "cqf" else 1
    return bridge.gates != "auto" and new > lowest - buffers


def _wrong_priority(scenario: Scenario, bridge: int, place: int) -> tuple[str, Any, str] | None:
    """What is wrong with an internal priority value: the plan goes by the priority of frames."""
    owner = scenario.bridge[bridge]
    entry = owner.stream_filter[place]
    if entry.gate is None or owner.policing == "linux":
        return None
    planned = {owner.class_of(stream.priority): stream.id for stream in scenario.stream}
    taken = streams_of(scenario, entry)
    for index, interval in enumerate(owner.stream_gate[entry.gate].entries):
        if interval.priority is None:
            continue
        new = owner.class_of(interval.priority)
        for flow in _flows(scenario):
            own = owner.class_of(flow.priority)
            if own == new or (taken and flow.id not in taken):
                continue
            is_stream = flow in scenario.stream
            if not is_stream and _in_way(owner, min(planned, default=8), own, new):
                other = planned.get(new) or planned[min(planned)]
            else:
                other = planned.get(own if is_stream else new, "")
            if other:
                return (
                    f"bridge[{bridge}].stream_gate.{entry.gate}.entries[{index}].priority",
                    interval.priority,
                    f"takes {flow.id} from traffic class {own} to {new}, and the plan of stream"
                    f' "{other}" goes by the priorities of frames; leave it out, or choose classes'
                    " without streams",
                )
    return None
