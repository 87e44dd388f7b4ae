# SPDX-License-Identifier: BSD-3-Clause
"""Figures 17 and 18 of the KeepON paper: what padding and isolation leave to best effort, as
published with a slot for each frame, and with frames of several slots beside it (E25, I15, I16).

Hosts cost no time here, so that nothing but the slots limits a flow; the published figures are of a
board whose CPU does, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict

from keepon._sim import KeeponSpec, LoadSpec, NicSpec, Simulation, StationSpec
from keepon.model.fields import Whole
from keepon_papers import published
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

GIGABIT = 1_000_000_000
MS = 1_000_000
BYTE_NS = 8
OVERHEAD_BYTES = 20
HEADERS_BYTES = 14 + 20 + 8 + 4
"""Of a frame of UDP: Ethernet, IPv4, UDP, FCS."""
TRIM_BYTES = 8
PAYLOADS_BYTES = (18, 100, 500, 1000, 1472)
SLOTS_BYTES = (210, 300, 460, 600, 800, 1000, 1230, 1480)
PUBLISHED_PAYLOADS = (100, 500)
PACKETS_BYTES = (200, 400, 600, 1400)
SHARES = (8, 16, 32)
POSTED_NS = 1_280_000
KEPT = 0.98
"""Of the grid's own limit that best effort gets at least."""


@dataclass(frozen=True)
class Scheme:
    """How frames go into slots.

    Attributes:
        slot_bytes: of a slot.
        buffers: that a frame of several slots may have; 0: every frame has one slot.
    """

    name: str
    slot_bytes: int
    buffers: int

    def slots(self, frame_bytes: int) -> int:
        """That a frame takes, by counting; 0: it is not sent. A byte is kept for a trim."""
        slot_bytes = self.slot_bytes + OVERHEAD_BYTES
        if frame_bytes <= self.slot_bytes - TRIM_BYTES:
            return 1
        for count in range(2, 129 if self.buffers else 0):
            rest = count * slot_bytes - frame_bytes - OVERHEAD_BYTES
            if self.buffers == 1 and rest > (count - 1) * 84:
                return count
            padded = rest >= 1 and count * slot_bytes - OVERHEAD_BYTES + 1 <= 1518
            if self.buffers > 1 and (rest > 84 or padded):
                return count
        return 0


SCHEMES = (
    Scheme("one slot of 10 us, as published", 1230, 0),
    Scheme("several slots of 1 us, fragments", 105, 128),
    Scheme("several slots of 5 us, one buffer", 605, 1),
)


class Settings(BaseModel):
    """Settings; units are the last part of each name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    measured_ms: Annotated[int, Whole(5, 60_000)] = 100
    warmup_ms: Annotated[int, Whole(20, 60_000)] = 60
    seed: Annotated[int, Whole(0, 2**31)] = 1


ORIGINS = Origins(
    calibrated={},
    chosen={
        "measured_ms": "published: 60 s, ten times; here every period is like the one before",
        "warmup_ms": "until slots are on the grid, with best effort in all of them",
        "seed": "of everything random",
    },
)


def goodput_bps(scheme: Scheme, payload_bytes: int, share: int, settings: Settings) -> float:
    """Bits of payload that a saturating flow gets in so many of every 32 slots' time."""
    slot_ns = (scheme.slot_bytes + OVERHEAD_BYTES) * BYTE_NS
    slots = POSTED_NS // slot_ns
    simulation = Simulation(settings.seed)
    keepon = KeeponSpec(
        slot_bytes=scheme.slot_bytes,
        batch_slots=max(slots // 16, 1),
        depth_slots=slots,
        ring_slots=2 * slots,
        partition=table_of(scheme, share),
        trim_down_bytes=TRIM_BYTES,
        trim_up_bytes=TRIM_BYTES,
        frame_bytes_max=1518 if scheme.buffers else None,
    )
    nic = NicSpec(fragments_max=max(scheme.buffers, 1))
    talker = simulation.add_station("a", StationSpec(driver="keepon", nic=nic, keepon=keepon))
    listener = simulation.add_station("b", StationSpec())
    simulation.add_link(talker, listener, GIGABIT, 0)
    load = simulation.add_load(
        LoadSpec(
            id="bg",
            talker=talker,
            listener=listener,
            kind="saturate",
            frame_bytes=payload_bytes + HEADERS_BYTES,
            tc=1,
            window_frames=200,
        )
    )
    simulation.run(settings.warmup_ms * MS)
    before = simulation.load(load)["delivered"]
    simulation.run((settings.warmup_ms + settings.measured_ms) * MS)
    frames = simulation.load(load)["delivered"] - before
    return float(frames * payload_bytes * 8 * 1000 / settings.measured_ms)


def table_of(scheme: Scheme, share: int) -> list[int]:
    """Class masks of 320 us: 32 parts, of which best effort (class 1) has so many."""
    slots = 320_000 // ((scheme.slot_bytes + OVERHEAD_BYTES) * BYTE_NS)
    own = slots * share // 32
    return [2] * own + [1] * (slots - own)


def limit_bps(scheme: Scheme, payload_bytes: int, share: int) -> float:
    """What the slots can carry, by counting frames in rows of them."""
    slot_ns = (scheme.slot_bytes + OVERHEAD_BYTES) * BYTE_NS
    count = scheme.slots(payload_bytes + HEADERS_BYTES)
    if not count:
        return 0.0
    table = table_of(scheme, share)
    frames = len(table) / count if share == 32 else table.count(2) // count
    return frames * payload_bytes * 8e9 / (len(table) * slot_ns)


def wire_bps(payload_bytes: int) -> float:
    """What the wire carries of such frames."""
    return payload_bytes * GIGABIT / (payload_bytes + HEADERS_BYTES + OVERHEAD_BYTES)


def _kept(found: list[tuple[float, float]]) -> Check:
    least = min((got / limit for got, limit in found if limit), default=0.0)
    return Check(
        f"best effort gets {100 * KEPT:g} % of what its slots can carry, and no more",
        least >= KEPT and all(got <= 1.002 * limit for got, limit in found),
        f"{100 * least:.1f} % at least",
    )


def fig17(settings: Settings, spread: Spread) -> Part:
    """Goodput by the length of slots, and by that of frames."""
    grids = [Scheme("", size, 0) for size in SLOTS_BYTES]
    by_slot = [(grid, payload) for payload in PUBLISHED_PAYLOADS for grid in grids]
    by_frame = [(scheme, payload) for scheme in SCHEMES for payload in PAYLOADS_BYTES]
    cases = by_slot + by_frame
    got = spread.in_order(
        goodput_bps, [(scheme, payload, 32, settings) for scheme, payload in cases]
    )
    found = dict(zip(cases, got, strict=True))
    known = published.load("keepon")
    result = Part("fig17", "Figure 17: what padding costs", "section 6.4, Figure 17")
    shares = {
        scheme.name: [found[scheme, size] / wire_bps(size) for size in PAYLOADS_BYTES]
        for scheme in SCHEMES
    }
    rows: list[list[Cell]] = [
        [size, *(100 * shares[scheme.name][place] for scheme in SCHEMES)]
        for place, size in enumerate(PAYLOADS_BYTES)
    ]
    result.tables = [
        Table(
            "Goodput, % of what the wire carries of that length",
            "calculated",
            [Column("payload of UDP, bytes", 0), *(Column(scheme.name, 1) for scheme in SCHEMES)],
            rows,
            "0: no frame of that length is sent.",
        )
    ]
    for payload, key, slot_bytes in (
        (100, "fig17a", 1480), (500, "fig17b", 600), (500, "fig17b", 1480)
    ):  # fmt: skip
        published_bytes = 600 if slot_bytes == 600 else 1500
        result.compared.append(
            Comparison(
                f"{payload} bytes in slots of {published_bytes}, Mbit/s",
                found[Scheme("", slot_bytes, 0), payload] / 1e6,
                known[key][f"throughput_mbps_at_{published_bytes}_byte_slots"],
                known[key]["id"],
                "calculated",
                f"slots of {slot_bytes} bytes with FCS; hosts cost no time",
            )
        )
    result.findings = [
        "The published figures are a tenth above what slots of that length carry of payload; what"
        " was counted, and how long a slot was with its FCS, is not said."
    ]
    one, fragments, buffer = (shares[scheme.name] for scheme in SCHEMES)
    result.checks = [
        _kept([(value, limit_bps(*case, 32)) for case, value in found.items()]),
        Check(
            "fragments at 1 us carry 65 % at the worst length, 90 % from 500 bytes on",
            min(fragments) >= 0.65 and min(fragments[2:]) >= 0.9,
            ", ".join(f"{100 * value:.1f}" for value in fragments),
        ),
        Check(
            "one slot of one length carries a tenth of that at worst, and no full frames",
            min(one[:-1]) < 0.1 and one[-1] == 0,
            ", ".join(f"{100 * value:.1f}" for value in one),
        ),
        Check(
            "one buffer at 5 us carries every length",
            min(buffer) > 0.12,
            ", ".join(f"{100 * value:.1f}" for value in buffer),
        ),
    ]
    slots = [float(size) for size in SLOTS_BYTES]
    panels = [
        Panel(
            f"{payload} bytes of payload",
            "slot, bytes",
            "goodput, Mbit/s",
            [
                Curve("a slot a frame", slots, [found[grid, payload] / 1e6 for grid in grids]),
                *(
                    Curve(scheme.name, slots, [found[scheme, payload] / 1e6] * len(slots), "dashed")
                    for scheme in SCHEMES[1:]
                ),
            ],
        )
        for payload in PUBLISHED_PAYLOADS
    ]
    result.plots = [Plot("fig17", "Goodput by the length of slots", "calculated", panels)]
    return result


def fig18(settings: Settings, spread: Spread) -> Part:
    """Goodput by the share of slots, at each length of packets."""
    cases = [
        (scheme, packet, share)
        for scheme in SCHEMES
        for share in SHARES
        for packet in PACKETS_BYTES
    ]
    got = spread.in_order(goodput_bps, [(*case, settings) for case in cases])
    found = dict(zip(cases, got, strict=True))
    result = Part("fig18", "Figure 18: isolation and bandwidth", "section 6.4, Figure 18")
    rows: list[list[Cell]] = [
        [
            scheme.name,
            f"{share}/32",
            *(found[scheme, packet, share] / 1e6 for packet in PACKETS_BYTES),
        ]
        for scheme in SCHEMES
        for share in SHARES
    ]
    result.tables = [
        Table(
            "Goodput, Mbit/s",
            "calculated",
            [
                Column("frames in slots"), Column("share of slots"),
                *(Column(f"{packet} bytes", 1) for packet in PACKETS_BYTES),
            ],
            rows,
            "By the payload of UDP, in a table of 320 us. 0: no frame of that length is sent.",
        )
    ]  # fmt: skip
    known = published.load("keepon")["fig18"]
    full = SCHEMES[1]
    result.compared = [
        Comparison(
            "all slots, 1400 bytes, Mbit/s", found[full, 1400, 32] / 1e6,
            known["target_mbps_approached_at_1400_bytes"], known["id"], "calculated",
            f"{full.name}; hosts cost no time",
        )
    ]  # fmt: skip
    ratios = [
        found[scheme, packet, share] / found[scheme, packet, 32]
        for scheme, packet, share in cases
        if share < 32 and scheme.slots(packet + HEADERS_BYTES) == 1
    ]
    wanted = [share / 32 for scheme, packet, share in cases
              if share < 32 and scheme.slots(packet + HEADERS_BYTES) == 1]  # fmt: skip
    apart = max(abs(ratio - share) for ratio, share in zip(ratios, wanted, strict=True))
    result.checks = [
        _kept([(value, limit_bps(*case)) for case, value in found.items()]),
        Check(
            "goodput of frames of one slot follows the share of slots",
            apart < 0.02,
            f"off by {100 * apart:.1f} % of it at most",
        ),
    ]
    panels = [
        Panel(
            scheme.name,
            "payload of UDP, bytes",
            "goodput, Mbit/s",
            [
                Curve(
                    f"{share}/32",
                    [float(packet) for packet in PACKETS_BYTES],
                    [found[scheme, packet, share] / 1e6 for packet in PACKETS_BYTES],
                )
                for share in SHARES
            ],
        )
        for scheme in SCHEMES
    ]
    result.plots = [Plot("fig18", "Goodput by the share of slots", "calculated", panels)]
    return result


FIG17 = Study("what padding costs best effort, by slot and frame", Settings, ORIGINS, parts(fig17))
FIG18 = Study(
    "what isolation leaves best effort, by share and frame", Settings, ORIGINS, parts(fig18)
)
