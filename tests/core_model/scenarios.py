# SPDX-License-Identifier: BSD-3-Clause
"""Cases written down: one for each mechanism, and one for each symptom that was found once."""

from __future__ import annotations

import sys
from pathlib import Path

from core_model.campaign import play
from core_model.cases import BEST_EFFORT_LOW, FIRM, SOFT, make_case
from core_model.core import Library
from core_model.mechanisms import (
    ALL,
    BEST_EFFORT,
    CRYSTALS,
    EVERY_CLASS,
    FETCHING,
    LAGGING,
    MIXED,
    PAD,
    PAPER_RING,
    PRIME_PARTITION,
    RESERVED_PARTITION,
    SHORT,
    SLOW_CALLS,
    SMALL,
    STORM,
    TICKS,
    Scenario,
    crystals,
    deaths,
    dry,
    full_load,
    held,
    rates,
    restarts,
    steps,
    storm,
    stream,
    switches,
    unlocked,
)
from core_model.model import TRIM_RESERVED
from core_model.shaping import SHAPED

SCENARIOS: dict[str, Scenario] = {
    **SHAPED,
    "every class": (MIXED, EVERY_CLASS),
    "every class, no prebuffer": (make_case({"prebuffer_frames": 0}, PRIME_PARTITION), EVERY_CLASS),
    "every class, paper": (make_case(PAPER_RING, PRIME_PARTITION), EVERY_CLASS),
    "mixed stream": stream(1, MIXED),
    "mixed stream, deep": stream(2, make_case({"depth_slots": 60}, PRIME_PARTITION)),
    "mixed stream, 2.5 Gb/s": stream(
        3, make_case({"rate_bps": 2_500_000_000, "slot_bytes": 64 + 20}, PRIME_PARTITION)
    ),
    "mixed stream, 10 Mb/s": stream(
        4, make_case({"rate_bps": 10**7, "slot_bytes": 1518}, PRIME_PARTITION)
    ),
    "mixed stream, 100 Gb/s": stream(
        5,
        make_case(
            {
                "rate_bps": 10**11,
                "slot_bytes": 1522,
                "restart_ps_min": 10_000,
                "restart_ps_max": 50_000,
                "read_ps": 20_000,
                "tolerance_ns": 1,
            },
            PRIME_PARTITION,
        ),
    ),
    "reserved trims": stream(6, make_case({"trim": TRIM_RESERVED}, RESERVED_PARTITION)),
    "reserved trims, shortest slots": stream(
        7, make_case(SMALL | {"drift_ppb_max": 50_000}, RESERVED_PARTITION)
    ),
    "fetch index": stream(8, make_case(FETCHING, PRIME_PARTITION)),
    "fetch index, lagging": stream(9, make_case(FETCHING | LAGGING, PRIME_PARTITION)),
    "done index, lagging": stream(10, make_case(LAGGING, PRIME_PARTITION)),
    "done index, now and then lagging": stream(
        17, make_case({"index_lag_ps_max": 3_000_000}, PRIME_PARTITION)
    ),
    "write-back, spare buffers": stream(
        11, make_case({"persistent": 0, "spare": 1, "placeholder": 1}, PRIME_PARTITION)
    ),
    "paper": stream(12, make_case(PAPER_RING, PRIME_PARTITION)),
    "paper, largest ring": stream(
        13, make_case(PAPER_RING | {"ring_slots": 4096, "batch_slots": 64}, PRIME_PARTITION)
    ),
    "smallest ring": stream(
        14, make_case({"ring_slots": 8, "batch_slots": 1, "depth_slots": 4}, PRIME_PARTITION)
    ),
    "steps": steps(SHORT, 1, -1, 1000, -1300, 2560, -2560, 1_000_000, -7_777, 10**10, -2_000_000),
    "steps, reserved trims": steps(
        make_case({"slot_bytes": 300, "trim": TRIM_RESERVED}, RESERVED_PARTITION), 1280, 10**9, -999
    ),
    "steps, paper": steps(make_case(PAPER_RING, PRIME_PARTITION), 1, -1300, 10**6, -(10**5)),
    "rates": rates(SHORT, 66, -66, 6_553_600, -6_553_600, 65_536_000, -65_536_000, 0, 655_360_001),
    "rates, reserved trims": rates(
        make_case({"trim": TRIM_RESERVED}, RESERVED_PARTITION), 6_553_600, -6_553_600, 65_536_000, 0
    ),
    "rates, paper": rates(
        make_case(PAPER_RING, PRIME_PARTITION), 66, 6_553_600, -655_360_000, 655_360_000
    ),
    "padding on demand": (make_case(PAD, PRIME_PARTITION), EVERY_CLASS * 3),
    "padding on demand, mixed stream": stream(18, make_case(PAD, PRIME_PARTITION), 240),
    "padding on demand, paper": stream(19, make_case(PAD | PAPER_RING, PRIME_PARTITION), 240),
    "padding on demand, full load": full_load(
        make_case(PAD | {"slot_bytes": 300, "placeholder": 1})
    ),
    "padding on demand, restarts": restarts(
        make_case(PAD | {"slot_bytes": 300, "persistent": 0}, PRIME_PARTITION)
    ),
    "full load": full_load(SHORT),
    "full load, reserved trims": full_load(
        make_case({"slot_bytes": 300, "trim": TRIM_RESERVED}, RESERVED_PARTITION)
    ),
    "full load, paper": full_load(make_case(PAPER_RING, PRIME_PARTITION)),
    "dry": dry(SHORT),
    "dry, paper": dry(make_case(PAPER_RING, PRIME_PARTITION)),
    "dry, lagging": dry(make_case(LAGGING | {"slot_bytes": 300}, PRIME_PARTITION)),
    "dry, calls that take time": dry(
        make_case({"slot_bytes": 300, "call_ps": 150_000}, PRIME_PARTITION)
    ),
    "dry, fetch index": dry(make_case(FETCHING | {"slot_bytes": 300}, PRIME_PARTITION)),
    "crystals": crystals(make_case(CRYSTALS | {"drift_ppb": 1_000_000}, (0, ALL))),
    "crystals, the other way": crystals(
        make_case(CRYSTALS | {"drift_ppb": -1_000_000, "dither": 0}, (0, ALL))
    ),
    "crystals, fetch index": crystals(
        make_case(CRYSTALS | {"drift_ppb": -1_000_000, "index_counts_done": 0}, (0, ALL))
    ),
    "crystals, steady": (
        make_case(CRYSTALS | {"drift_ppb": -1_000_000, "wander_ppb_per_s_max": 0}, (0, ALL)),
        [("glide", 1500)],
    ),
    "unlocked": unlocked(
        make_case({"slot_bytes": 300, "depth_slots": 40, "trim_down_bytes": 4, "trim_up_bytes": 4})
    ),
    "held": held(make_case({"slot_bytes": 300, "ring_slots": 100, "depth_slots": 40})),
    "held, paper": held(make_case(PAPER_RING, (ALL,))),
    "storm": storm(make_case(STORM)),
    "storm, reserved trims": storm(
        make_case(STORM | {"trim": TRIM_RESERVED}, (0, ALL, ALL, ALL, ALL))
    ),
    "storm, fetch index, write-back": storm(make_case(STORM | FETCHING | {"persistent": 0})),
    "storm, paper": storm(make_case(PAPER_RING | {"prebuffer_frames": 256})),
    "switches": switches(
        SHORT, (ALL, BEST_EFFORT, 0), PRIME_PARTITION[::-1], (1 << SOFT | BEST_EFFORT,)
    ),
    "switches, reserved trims": switches(
        make_case({"slot_bytes": 300, "trim": TRIM_RESERVED}, RESERVED_PARTITION),
        RESERVED_PARTITION[1:] + RESERVED_PARTITION[:1],
        (0, ALL, BEST_EFFORT, 0, 1 << FIRM, ALL),
    ),
    "switches, paper": (make_case(PAPER_RING), [("run", 5), ("switch", (ALL,), 40), ("run", 5)]),
    "deaths": deaths(
        make_case({"slot_bytes": 300, "ring_slots": 100, "depth_slots": 40}, PRIME_PARTITION, False)
    ),
    "deaths, fetch index": deaths(
        make_case(FETCHING | {"slot_bytes": 300}, PRIME_PARTITION, False)
    ),
    "horizon": held(
        make_case({"slot_bytes": 300, "ring_slots": 100, "depth_slots": 40, "horizon_ns": 500_000})
    ),
    "classes without slots": (make_case({}, (1 << FIRM, BEST_EFFORT)), EVERY_CLASS),
    "prefetch deeper than what is posted": stream(
        20, make_case({"prefetch_slots": 24, "ring_slots": 64, "depth_slots": 8}, PRIME_PARTITION)
    ),
    "ticks of 18.5 ns": stream(21, make_case(SMALL | TICKS, RESERVED_PARTITION), 300),
    "ticks of 18.5 ns, fetch index": stream(22, make_case(FETCHING | TICKS, PRIME_PARTITION), 240),
    "not coherent": stream(23, make_case({"coherent": 0}, PRIME_PARTITION), 200),
    "not coherent, padding on demand": stream(
        24, make_case(PAD | {"coherent": 0}, PRIME_PARTITION), 240
    ),
    "restarts": restarts(SHORT),
    "restarts, paper": restarts(make_case(PAPER_RING, PRIME_PARTITION)),
    "restarts, reserved trims": restarts(
        make_case(
            {"slot_bytes": 300, "trim": TRIM_RESERVED, "drift_ppb": 90_000}, RESERVED_PARTITION
        )
    ),
    "restarts, fetch index, lagging": restarts(
        make_case(FETCHING | LAGGING | {"slot_bytes": 300}, PRIME_PARTITION)
    ),
    "restarts, write-back, spare buffers": restarts(
        make_case(
            {"persistent": 0, "spare": 1, "placeholder": 2, "index_modulus": 64}, PRIME_PARTITION
        )
    ),
    "restarts, calls that take time": restarts(
        make_case({"slot_bytes": 300, "call_ps": 20_000}, PRIME_PARTITION)
    ),
    "restarts, calls that take long": restarts(make_case(SLOW_CALLS, PRIME_PARTITION)),
    "steps, calls that take time": steps(
        make_case(SLOW_CALLS | {"call_ps": 50_000}, PRIME_PARTITION),
        1,
        -1300,
        2560,
        -30_000,
        10**6,
        -7_777,
        10**10,
    ),
    "mixed stream, calls that take long": stream(25, make_case(SLOW_CALLS, PRIME_PARTITION)),
    "mixed stream, restarts": stream(15, MIXED, 160, restart_every=8),
    "mixed stream, paper, restarts": stream(
        16, make_case(PAPER_RING, PRIME_PARTITION), 160, restart_every=8
    ),
    "drift beyond what was stated": (
        make_case(
            {"prebuffer_frames": 0, "depth_slots": 60, "batch_slots": 1, "drift_ppb_max": 1000},
            honest=False,
        ),
        [("run", 40), ("cheat", 900_000, 2000), ("submit", FIRM, 200, 3, 0)],
    ),
    # ---- symptoms ----
    "slots begin while the clock is set": (
        make_case({"slot_bytes": 300, "call_ps": 150_000}, PRIME_PARTITION),
        [("run", 5), ("burst", BEST_EFFORT_LOW, 64, 40), ("adjtime", -30_000), ("run", 40)],
    ),
    "the first slot begins while the others are trimmed": (
        make_case({"call_ps": 150_000}, PRIME_PARTITION),
        [("run", 6), ("stop",), ("start",)],
    ),
    "time set to its origin": (
        SHORT,
        [("run", 12), ("settime_at", 0, 0), *EVERY_CLASS, ("settime_at", 1, 5), *EVERY_CLASS],
    ),
    "polled while the wire waits for its first bit": (
        make_case({"restart_ps_min": 9_000_000, "restart_ps_max": 9_000_000}),
        [("poll",), ("advance", 1_000_000), ("poll",), ("run", 3)],
    ),
    "polled while a lagging index shows nothing yet": (
        make_case(LAGGING),
        [("poll",), ("advance", 1_000_000), ("poll",), ("run", 4)],
    ),
    "polled while a lagging fetch index shows nothing yet": (
        make_case(
            FETCHING
            | {
                "depth_slots": 40,
                "index_lag_ps_min": 3_000_000,
                "index_lag_ps_max": 3_000_000,
                "restart_ps_min": 90_000_000,
                "restart_ps_max": 90_000_000,
            }
        ),
        [("poll",), ("advance", 1_000_000), ("poll",), ("run", 8)],
    ),
    "wire idle behind a lagging index": (
        make_case(LAGGING | {"depth_slots": 7, "batch_slots": 4}),
        [("run", 6), ("stall", 25_000_000), ("poll",), ("run", 6)],
    ),
    "every posted slot fetched, so that the index says nothing": (
        make_case(
            FETCHING
            | {
                "depth_slots": 10,
                "batch_slots": 3,
                "restart_ps_min": 2_000_000,
                "restart_ps_max": 2_000_000,
            }
        ),
        [("run", 10), ("stall", 60_000_000), ("poll",), ("run", 20)],
    ),
    "another rate before the grid is reached": (
        make_case(
            {
                "rate_bps": 25 * 10**9,
                "slot_bytes": 200,
                "ring_slots": 32,
                "batch_slots": 1,
                "depth_slots": 28,
                "trim_down_bytes": 24,
                "trim_up_bytes": 8,
                "prebuffer_frames": 0,
                "tolerance_ns": 20,
                "trim": TRIM_RESERVED,
                "dither": 0,
                "reserved_slots": 0,
                "index_modulus": 64,
                "index_lag_ps_min": 11733,
                "index_lag_ps_max": 23466,
                "restart_ps_min": 0,
                "restart_ps_max": 35200,
                "read_ps": 1000,
                "index_counts_done": 0,
                "quantum_bytes": 4,
                "start_time_ns": 0,
            },
            (0,),
        ),
        [("adjfine", 125_113_532), ("adjtime", 1_000_000), ("adjfine", -81_028_514), ("run", 12)],
    ),
    "another rate half way to the grid": (
        make_case({"slot_bytes": 300, "depth_slots": 60, "trim_down_bytes": 4, "trim_up_bytes": 4}),
        [
            ("run", 12),
            ("adjtime", 640),
            ("adjfine", 262_144_000),
            ("run", 30),
            ("adjtime", -700),
            ("adjfine", -262_144_000),
            ("run", 30),
        ],
    ),
    "another rate that moves slots beyond change by two slots": (
        make_case(
            {
                "rate_bps": 10**11,
                "slot_bytes": 67,
                "ring_slots": 4096,
                "depth_slots": 4039,
                "batch_slots": 66,
                "trim": TRIM_RESERVED,
                "trim_down_bytes": 7,
                "trim_up_bytes": 5,
                "prefetch_slots": 0,
                "tolerance_ns": 6,
                "restart_ps_min": 0,
                "restart_ps_max": 0,
                "read_ps": 0,
            },
            (0, ALL, ALL, 0, ALL, ALL, 0),
        ),
        [("adjfine", -466_587_091), ("stall", 28_134_033), ("run", 3)],
    ),
    "step while the wire waits for its first bit": (
        make_case(
            {
                "slot_bytes": 1518,
                "batch_slots": 1,
                "seed": 11250,
                "restart_ps_min": 43_909_312,
                "restart_ps_max": 43_909_312,
            },
            (1 << SOFT,),
        ),
        [
            ("advance", 36_912_000),
            ("adjtime", -1_000_000),
            ("run", 2),
            ("submit", BEST_EFFORT_LOW, 148, None),
        ],
    ),
    "txtimes a century away": (
        make_case(PAPER_RING),
        [
            ("run", 2),
            ("submit_at", FIRM, 64, 2**62),
            ("submit_at", FIRM, 64, 0),
            ("submit_at", SOFT, 64, 2**63 - 1),
            ("run", 3),
        ],
    ),
}


def main() -> int:
    """Play scenarios by name (all without one) on a library: `python -m core_model.scenarios
    LIBRARY [NAME...]`.
    """
    library = Library(Path(sys.argv[1]))
    for name in sys.argv[2:] or SCENARIOS:
        try:
            play(library, *SCENARIOS[name])
        except AssertionError as error:
            print(f"{name}: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
