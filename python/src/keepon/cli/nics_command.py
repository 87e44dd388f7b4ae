# SPDX-License-Identifier: BSD-3-Clause
"""`keepon nics`: the Ethernet drivers of a kernel tree, and what they can do, as a table or as
JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from keepon.linux.survey import Driver, Survey, survey
from keepon.model import published
from keepon.report import terminal

COLUMNS = (
    ("PHC", "phc"),
    ("SO_TXTIME", "so_txtime"),
    ("taprio", "taprio"),
    ("own FCS", "own_fcs"),
    ("bad frames", "bad_frames"),
)


def run(tree: Path, everything: bool, as_json: bool) -> None:
    """Print the survey of a tree.

    Args:
        everything: also drivers that have nothing of what is looked for.

    Raises:
        ConfigError: it is no kernel tree.
    """
    found = survey(tree)
    if as_json:
        drivers = [{**asdict(driver), "scheduled": driver.scheduled} for driver in found.drivers]
        print(json.dumps({"counts": found.counts(), "drivers": drivers}, indent=1))
        return
    table = Table("driver", *(title for title, _ in COLUMNS), "Keepon")
    for driver in found.drivers:
        if everything or driver.scheduled or driver.own_fcs or driver.backend:
            table.add_row(driver.name, *_marks(driver), driver.backend or "-")
    terminal.show(table)
    for line in _summary(found):
        print(line)


def _marks(driver: Driver) -> list[str]:
    return ["yes" if getattr(driver, key) else "" for _, key in COLUMNS]


def _summary(found: Survey) -> list[str]:
    """Our counts, and those that were published for Linux 6.12 or 6.14."""
    ours, theirs = found.counts(), published.load("keepon")["driver_survey"]
    return [
        (
            f"{ours['drivers']} drivers of {ours['modules']} modules make Ethernet interfaces "
            f"(keepon.driver_survey: {theirs['drivers_surveyed_count']} drivers)"
        ),
        (
            f"{ours['phc']} have a PTP clock ({theirs['drivers_with_ptp_phc_count']}),"
            f" {ours['scheduled']} send at a given instant"
            f" ({theirs['drivers_with_sched_offload_count']}): {ours['so_txtime']} by SO_TXTIME"
            f" ({theirs['drivers_so_txtime_count']}), {ours['taprio']} by taprio"
            f" ({theirs['drivers_taprio_count']}), {ours['both']} by both"
            f" ({theirs['drivers_both_count']})"
        ),
        (
            "counted is what handles the offload of qdisc etf or taprio; own FCS: SO_NOFCS; bad"
            " frames: ethtool rx-all"
        ),
    ]
