# SPDX-License-Identifier: BSD-3-Clause
"""What a guest left behind, as frame arrays: talkers' and listeners' files, the exact record of the
wires, verdicts.

Network time of a run is the talker's PHC. The record of a wire has its own time base (raw); the two
are joined by one constant a stream, the median difference between what the kernel says of sent
frames and the recorded instants. So a frame that is off shows as a deviation, a stamp that is off
shows even if all are off by the same, and how far the constant is from the NIC's own clock is
checked. Arrivals are hardware stamps of listeners, whose clocks are the NIC's.
"""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import numpy as np

from keepon.errors import TraceError
from keepon.machines.planned import Guest
from keepon.measure.capture import stream_hash as stream_hash
from keepon.measure.results import NONE, PENDING, FrameArrays
from keepon.measure.sightings import LOAD, Sighting
from keepon.model.plan import PlannedStation
from keepon.model.result import LoadResult
from keepon.model.scenario import Stream
from keepon.model.tools import Listen, Talk, TalkFrame
from keepon.model.topology import Topology

# What a test frame carries (tools/payload.h).
MAGIC = bytes.fromhex("4b504e54")
FRAME = re.compile(
    r"frame seq=(?P<seq>\d+) raw_ns=(?P<raw>[\d.]+) phc_ns=(?P<phc>-?[\d.]+) bytes=(?P<bytes>\d+)"
    r" queue=\d+ "
    r"verdict=(?P<verdict>\w+) head=(?P<head>[0-9a-f]*)"
)
RUN = re.compile(r"placeholders seq=\d+ count=(?P<count>\d+) ")
OUTCOME = re.compile(
    r"keepon_outcome: dev=(?P<dev>\S+) tc=(?P<tc>\d+) verdict=(?P<verdict>\w+) slot=\d+ "
    r"txtime_ns=(?P<txtime>-?\d+) start_ns=(?P<start>-?[\d.]+)"
)
COUNTER = re.compile(r"^\s*(?P<name>[\w.-]+):?\s+(?P<value>\d+)$")


def picoseconds(text: str) -> int:
    """ "12.345" ns as ps, exactly."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3]) * (-1 if whole.startswith("-") else 1)


class Other(NamedTuple):
    """A frame that belongs to no stream: PHC time (ps) of the NIC, bytes on the wire, the first of
    its bytes.
    """

    at_ps: int
    frame_bytes: int
    head: bytes


@dataclass
class WireRecord:
    """What a talker's wire saw: instants of real frames by (stream hash, seq), in the record's time
    and its PHC, ps.

    `others`: every frame that belongs to no stream.
    """

    raw_ps: dict[tuple[int, int], int] = field(default_factory=dict)
    phc_ps: dict[tuple[int, int], int] = field(default_factory=dict)
    verdicts: dict[tuple[int, int], str] = field(default_factory=dict)
    others: list[Other] = field(default_factory=list)
    frames: int = 0
    placeholders: int = 0


def read_wire(text: str) -> WireRecord:
    """Parse NIC/wire of hwsim.

    Raises:
        TraceError: entries are missing at the beginning: the record was too small.
    """
    record = WireRecord()
    for line in text.splitlines():
        if line.startswith("forgotten"):
            raise TraceError(f"the record of a wire lost its beginning ({line}); shorten the run")
        run = RUN.match(line)
        if run is not None:
            record.placeholders += int(run["count"])
            continue
        frame = FRAME.match(line)
        if frame is None:
            continue
        record.frames += 1
        head = bytes.fromhex(frame["head"])
        at = head.find(MAGIC)
        if at < 0 or len(head) < at + 20:
            record.others.append(Other(picoseconds(frame["phc"]), int(frame["bytes"]), head))
            continue
        key = (
            int.from_bytes(head[at + 8 : at + 12], "big"),
            int.from_bytes(head[at + 12 : at + 20], "big"),
        )
        record.raw_ps[key] = picoseconds(frame["raw"])
        record.phc_ps[key] = picoseconds(frame["phc"])
        record.verdicts[key] = frame["verdict"]
    return record


def read_outcomes(text: str) -> dict[tuple[str, int, int], list[tuple[str, int]]]:
    """Verdict and PHC time (ps, of the reference plane; 0: not sent) of every frame that ended, in
    order of ending.

    Keys are device, class and txtime.

    Raises:
        TraceError: the kernel's trace buffer overran, so verdicts are missing.
    """
    if re.search(r"^CPU:\d+ \[LOST", text, re.MULTILINE):
        raise TraceError("the kernel's trace buffer was too small for the run; shorten it")
    outcomes: dict[tuple[str, int, int], list[tuple[str, int]]] = {}
    for match in OUTCOME.finditer(text):
        key = (match["dev"], int(match["tc"]), int(match["txtime"]))
        outcomes.setdefault(key, []).append((match["verdict"], picoseconds(match["start"])))
    return outcomes


def read_counters(text: str) -> dict[str, int]:
    """`ethtool -S` or a stats file of hwsim: counters by name."""
    found = (COUNTER.match(line) for line in text.splitlines())
    return {match["name"]: int(match["value"]) for match in found if match is not None}


def counters_of(
    files: dict[str, bytes], interface: str, needed: tuple[str, ...] = ()
) -> dict[str, int]:
    """Counters of an interface or bridge of the guest.

    Raises:
        TraceError: the guest left none, or one of those `needed` is not there. Nothing counted is
            not the same as zero.
    """
    name = f"stats-{interface}.txt"
    found = read_counters(files.get(name, b"").decode())
    if not found:
        raise TraceError(
            f"the guest left no counters in {name}; look at `guest.messages` of the run"
        )
    if absent := [key for key in needed if key not in found]:
        raise TraceError(
            f"the guest's {name} has no counter {absent[0]}; kernel module and package do not match"
        )
    return found


def rate_bps(frames: list[Other], start_ns: int, end_ns: int) -> int:
    """Bytes of frames in [start, end) over its length."""
    total = sum(one.frame_bytes for one in frames if start_ns * 1000 <= one.at_ps < end_ns * 1000)
    return round(total * 8 * 1_000_000_000 / (end_ns - start_ns))


@dataclass(frozen=True)
class StreamFrames:
    """Frames of a stream.

    Attributes:
        net_slot: the slot each one had in the network's grid, -1 unknown.
        stamp_error_ps: how far hardware stamps lie off the instants on the wire.
        clock_ps: how far the talker's clock is from its NIC's.
    """

    arrays: FrameArrays
    net_slot: np.ndarray[Any, Any]
    stamp_error_ps: np.ndarray[Any, Any]
    clock_ps: int


def _shift_ps(starts_ps: dict[int, int], record: WireRecord, number: int) -> tuple[int, int]:
    """Network time less the record's, and how far it is from the NIC's own clock, ps.

    Network time is that of the talker's PHC as the kernel has it when a frame ends, and of the NIC
    where no keepon device is above it. Stamps are not used: one that is off by a constant would
    make all instants look right.

    Args:
        starts_ps: what the kernel says of sent frames, by number.
    """
    seen = {seq: raw_ps for (stream, seq), raw_ps in record.raw_ps.items() if stream == number}
    nic = [record.phc_ps[number, seq] - raw_ps for seq, raw_ps in seen.items()]
    of_verdicts = [starts_ps[seq] - raw_ps for seq, raw_ps in seen.items() if seq in starts_ps]
    if not nic:
        return 0, 0
    shift_ps = statistics.median_low(of_verdicts or nic)
    return shift_ps, shift_ps - statistics.median_low(nic)


def clock_offsets_ns(talks: dict[str, Talk], record: WireRecord) -> list[float]:
    """A talker's clock, by its stamps, less the PHC of its NIC at the same instants, ns.

    Args:
        talks: keepon.talk/1 by stream, of this talker.
        record: of its wire.
    """
    return [
        (frame["tx_stamp_ns"] * 1000 - record.phc_ps[stream_hash(stream), frame["seq"]]) / 1000
        for stream, talk in talks.items()
        for frame in talk["frames"]
        if frame["tx_stamp_ns"] is not None and (stream_hash(stream), frame["seq"]) in record.phc_ps
    ]


def stream_frames(
    stream: Stream,
    device: str,
    talk: Talk,
    listens: list[Listen],
    record: WireRecord,
    outcomes: dict[tuple[str, int, int], list[tuple[str, int]]],
    verdict_names: list[str],
    epoch_ns: int,
    shared_clock: bool,
    station: PlannedStation | None,
    is_keepon: bool,
) -> StreamFrames:
    """Join everything known of one stream.

    Args:
        stream: of the scenario.
        device: its talker's device; only a keepon device reports verdicts.
        talk: keepon.talk/1 of the talker.
        listens: keepon.listen/1 of each listener, in the stream's order.
        record: of the talker's wire.
        outcomes: verdicts by (device, class, txtime); entries used are taken out.
        verdict_names: name by index.
        epoch_ns: network time of the start of the first cycle.
        shared_clock: listeners' PHCs run with the talker's NIC; otherwise their stamps are only
            their own.
        station: the talker's part of the plan, if it has one.
        is_keepon: the device is one of keepon.ko, which tells a verdict of every frame.

    Raises:
        TraceError: the files contradict each other.
    """
    number = stream_hash(stream.id)
    frames = talk["frames"]
    count, epoch_ps = len(frames), epoch_ns * 1000
    ends = frame_ends(stream, device, frames, outcomes)
    shift_ps, clock_ps = _shift_ps(
        {seq: end[1] for seq, end in ends.items() if end[1]}, record, number
    )
    seq = np.array([frame["seq"] for frame in frames], dtype=np.int64)
    txtime_ns = np.array([frame["txtime_ns"] for frame in frames], dtype=np.int64)
    submit_ps = np.array(
        [frame["submitted_ns"] * 1000 - epoch_ps for frame in frames], dtype=np.int64
    )
    wire_ps = np.full(count, NONE, dtype=np.int64)
    verdict = np.full(count, PENDING, dtype=np.int64)
    net_slot = np.full(count, NONE, dtype=np.int64)
    error_ps = np.zeros(count, dtype=np.int64)
    for index, frame in enumerate(frames):
        raw_ps = record.raw_ps.get((number, frame["seq"]))
        if raw_ps is not None:
            wire_ps[index] = raw_ps + shift_ps - epoch_ps
            if frame["tx_stamp_ns"] is not None:
                error_ps[index] = frame["tx_stamp_ns"] * 1000 - raw_ps - shift_ps
        if frame["seq"] in ends:
            name, start_ps = ends[frame["seq"]]
            verdict[index] = verdict_names.index(name)
            if start_ps and station is not None:
                net_slot[index] = round(
                    (start_ps - station["preamble_ps"]) / station["slot_time_ps"]
                )
        elif raw_ps is not None and is_keepon:
            raise TraceError(
                f"stream {stream.id}: frame {frame['seq']} was sent without a verdict of the kernel"
            )
        elif raw_ps is not None:
            # Nobody promised an instant: that it was sent is all that is known, a stamp says no
            # more.
            verdict[index] = verdict_names.index("best_effort")
        elif frame["error"] is not None:
            verdict[index] = verdict_names.index(
                "late" if frame["error"] == "missed" else "invalid"
            )
    arrival_ps = np.full((len(listens), count), NONE, dtype=np.int64)
    stamp_ns = np.full((len(listens), count), NONE, dtype=np.int64)
    places = {int(value): index for index, value in enumerate(seq)}
    for row, listen in enumerate(listens):
        for heard in listen["frames"]:
            if heard["stream"] not in (stream.id, f"0x{number:08x}"):
                continue
            place = places.get(heard["seq"])
            if place is None:
                raise TraceError(
                    f"stream {stream.id}: frame {heard['seq']} arrived without having been sent"
                )
            if heard["rx_stamp_ns"] is None:
                raise TraceError(
                    f"stream {stream.id}: frame {heard['seq']} arrived without a hardware stamp"
                )
            stamp_ns[row, place] = heard["rx_stamp_ns"]
            key = (number, heard["seq"])
            if key not in record.raw_ps:
                raise TraceError(
                    f"stream {stream.id}: frame {heard['seq']} arrived, but its wire never saw it"
                )
            if shared_clock:
                flight_ps = heard["rx_stamp_ns"] * 1000 - record.phc_ps[key]
                arrival_ps[row, place] = int(wire_ps[place]) + flight_ps
                stamp_ns[row, place] = (int(wire_ps[place]) + flight_ps + epoch_ps) // 1000
            else:
                arrival_ps[row, place] = heard["rx_stamp_ns"] * 1000 - epoch_ps
    arrays = FrameArrays(
        seq,
        txtime_ns,
        submit_ps,
        verdict,
        wire_ps,
        arrival_ps,
        stamp_ns,
        epoch_ns,
        one_clock=shared_clock,
    )
    return StreamFrames(arrays, net_slot, error_ps, clock_ps)


def frame_ends(
    stream: Stream,
    device: str,
    frames: list[TalkFrame],
    outcomes: dict[tuple[str, int, int], list[tuple[str, int]]],
) -> dict[int, tuple[str, int]]:
    """Verdict and PHC time (ps, 0: not sent) of frames that the kernel reported, by number.

    They are taken out of `outcomes`.
    """
    found: dict[int, tuple[str, int]] = {}
    for frame in frames:
        reported = outcomes.get((device, stream.tc, frame["txtime_ns"]))
        if reported:
            found[frame["seq"]] = reported.pop(0)
    return found


def load_json(files: dict[str, bytes], name: str, writer: str = "the guest") -> dict[str, Any]:
    """A JSON file that the guest left, or another `writer`.

    Raises:
        TraceError: it is not there or not whole: its writer did not come to its end.
    """
    try:
        document = json.loads(files[name])
    except (KeyError, ValueError) as error:
        beside = (
            files.get(name.replace(".json", ".txt"), b"")
            .decode(errors="replace")
            .strip()
            .splitlines()
        )
        raise TraceError(
            f"{writer} left no {name}; its writer said: {' | '.join(beside[-3:]) or 'nothing'}"
        ) from error
    if not isinstance(document, dict):
        raise TraceError(f"{writer}'s {name} is no object")
    return document


def load_result(files: dict[str, bytes], name: str) -> LoadResult:
    """Goodput of an iperf3 client, over the time it measured itself.

    Raises:
        TraceError: it did not come to its end, or says nothing of what arrived.
    """
    report = load_json(files, f"load-{name}.json")
    if "error" in report:
        raise TraceError(f"load {name}: iperf3 says {report['error']}")
    end = report.get("end", {})
    received = end.get("sum_received", {})
    if not received.get("seconds") or "bytes" not in received:
        raise TraceError(
            f"load {name}: iperf3 does not say what arrived (end.sum_received); use version 3.12 or"
            " newer"
        )
    found = {
        "goodput_bps": round(received["bytes"] * 8 / received["seconds"]),
        "window_s": received["seconds"],
        "lost": int(end.get("sum", {}).get("lost_packets", 0)),
        "retransmits": end.get("sum_sent", {}).get("retransmits"),
    }
    return cast(LoadResult, found)


OTHER = "other"
"""Of the kernel itself: addresses asked for, neighbours greeted."""
ADDRESS_BYTES = 6


def flows(guest: Guest) -> dict[tuple[str, str], str]:
    """Load by talker and address of its listener, and by who answers it."""
    found: dict[tuple[str, str], str] = {}
    for load in guest.scenario.load:
        for sender, target in ((load.talker, load.listener), (load.listener, load.talker)):
            found.setdefault((sender, guest.mac(target)), load.id)
    return found


def sightings(
    guest: Guest, records: Mapping[str, WireRecord], clocks_ps: Mapping[str, int]
) -> list[Sighting]:
    """In order of time.

    Args:
        records: of talkers' wires, by station.
        clocks_ps: network time less the PHC of a talker's NIC.
    """
    topology, known = Topology(guest.scenario), flows(guest)
    found: list[Sighting] = []
    for station, record in records.items():
        (peer,) = topology.neighbours[station]
        flight_ns = topology.wires[station, peer].propagation_ns
        for one in _of_wire(station, record, known, clocks_ps.get(station, 0)):
            found.append(one)
            if peer not in topology.bridges:
                found.append(
                    Sighting(
                        one.at_ns + flight_ns, peer, False, one.kind, one.flow, one.seq,
                        one.frame_bytes, station, head=one.head,
                    )
                )  # fmt: skip
    return sorted(found)


def _of_wire(
    station: str, record: WireRecord, known: Mapping[tuple[str, str], str], clock_ps: int
) -> Iterator[Sighting]:
    counts: dict[str, int] = {}
    for one in record.others:
        target = one.head[:ADDRESS_BYTES].hex(":")
        flow = known.get((station, target), OTHER)
        seq = counts[flow] = counts.get(flow, -1) + 1
        at_ns = (one.at_ps + clock_ps) // 1000
        yield Sighting(
            at_ns, station, True, LOAD, flow, seq, one.frame_bytes, station, head=one.head
        )
