# SPDX-License-Identifier: BSD-3-Clause
"""How late and uneven ordinary reception must be for stamps of software to be worse than keepon's
(D29).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from keepon.model.hosts import RX_SHAPES, RX_STAGE, rx_shape
from keepon_papers.clocks import networks
from keepon_papers.clocks.networks import MASTER, SLAVE, Array, Kind
from keepon_papers.document import Cell, Column, Curve, Panel, Plot, Table

SCALES = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Of the delay of reception of a station with stamps of software; 1 is fejes.fig1, which keepon's
stations have.
"""
ROLES = (MASTER, SLAVE)


@dataclass(frozen=True)
class Role:
    """One system in one role, all runs together; ns.

    Attributes:
        slave_ns: offsets of the slave's clock itself from network time.
        read_ns: offsets of what software reads from the clock of the system in question.
        reported_ns: offsets of the slave as PTP software reports them, one per Sync.
    """

    slave_ns: Array
    read_ns: Array
    reported_ns: Array

    @property
    def error_us(self) -> float:
        return float(np.abs(self.slave_ns).mean()) / 1000

    @property
    def reported_us(self) -> float:
        return float(np.abs(self.reported_ns).mean()) / 1000

    @property
    def spread_us(self) -> float:
        return float(np.abs(self.slave_ns - np.median(self.slave_ns)).mean()) / 1000

    @property
    def read_us(self) -> float:
        return float(np.abs(self.read_ns).mean()) / 1000


QUANTITIES: dict[str, Callable[[Role], float]] = {
    "as reported": lambda role: role.reported_us,
    "of the clock": lambda role: role.error_us,
}
"""What "accuracy" may mean: mean absolute offset as PTP software reports it, or of the clock from
network time; us.
"""


@dataclass(frozen=True)
class Threshold:
    """From which delay of ordinary reception on a system with keepon is the better one.

    Attributes:
        keepon_us: its mean absolute offset.
        scale: least scale from which on software's is larger; None if it is not at the largest of
            SCALES, and the smallest of SCALES if it is larger everywhere.
    """

    system: str
    role: str
    quantity: str
    keepon_us: float
    scale: float | None


def holds_from(scales: Array, values: Array, limit: float) -> float | None:
    """Least scale from which on all values are above the limit, on straight lines between the given
    points.

    Args:
        scales: ascending, shape (n,).
        values: at these scales, shape (n,).

    Returns:
        None if the last value is not above the limit; the first scale if all are.

    >>> holds_from(np.array([1.0, 2.0, 3.0]), np.array([0.0, 4.0, 9.0]), 2.0)
    1.5
    """
    below = np.flatnonzero(values <= limit)
    if below.size == 0:
        return float(scales[0])
    last = int(below[-1])
    if last + 1 == values.size:
        return None
    share = (limit - values[last]) / (values[last + 1] - values[last])
    return float(scales[last] + share * (scales[last + 1] - scales[last]))


def together(runs: Sequence[Role]) -> Role:
    """One system in one role, run by run."""
    return Role(
        np.concatenate([run.slave_ns for run in runs]),
        np.concatenate([run.read_ns for run in runs]),
        np.concatenate([run.reported_ns for run in runs]),
    )


def scaled_kinds() -> dict[float, Kind]:
    """Stamps of software at every scale."""
    return {scale: replace(networks.SOFTWARE, rx=RX_STAGE.scaled(scale)) for scale in SCALES}


def shaped_kinds() -> dict[tuple[float, str], Kind]:
    """Systems by sigma of the shape of their reception, and by name."""
    kinds = {}
    for sigma in RX_SHAPES:
        stage = rx_shape(sigma)
        single = replace(networks.SINGLE, rx=stage)
        kinds[sigma, "software stamps"] = replace(networks.SOFTWARE, rx=stage)
        kinds[sigma, "keepon, ours, latency not taken off"] = single
        kinds[sigma, "keepon, ours, mean latency taken off"] = networks.calibrated(single)
    return kinds


def thresholds(
    swept: dict[float, dict[str, Role]], keepon: dict[str, dict[str, Role]]
) -> list[Threshold]:
    """For every system with keepon, role and quantity.

    Args:
        swept: stamps of software by scale and role.
        keepon: by name of the system and role.
    """
    scales = np.array(list(swept))
    return [
        Threshold(
            name,
            role,
            quantity,
            value(roles[role]),
            holds_from(
                scales,
                np.array([value(found[role]) for found in swept.values()]),
                value(roles[role]),
            ),
        )
        for name, roles in keepon.items()
        for quantity, value in QUANTITIES.items()
        for role in ROLES
    ]


def sweep_table(swept: dict[float, dict[str, Role]]) -> Table:
    """Software's offsets by the delay of its reception."""
    rows: list[list[Cell]] = [
        [
            scale,
            networks.mean_rx_delay_ns(scale) / 1000,
            networks.rx_spread_ns(scale) / 1000,
            *(value(roles[role]) for value in QUANTITIES.values() for role in ROLES),
        ]
        for scale, roles in swept.items()
    ]
    columns = [
        Column("reception x", 2), Column("its mean, us", 2), Column("its stddev, us", 2),
        *(Column(f"{quantity}, {role}, us") for quantity in QUANTITIES for role in ROLES),
    ]  # fmt: skip
    return Table(
        "Stamps of software: mean absolute offset by the delay of ordinary reception",
        "calculated",
        columns,
        rows,
        "x1 is fejes.fig1. The mean includes a frame's bytes after its SFD.",
    )


def threshold_table(found: list[Threshold], idle: float) -> Table:
    """From where on the order of D29 holds.

    Args:
        idle: scale of a processor at its idle clock.
    """
    rows: list[list[Cell]] = [
        [
            entry.system,
            entry.quantity,
            entry.role,
            entry.keepon_us,
            entry.scale,
            None if entry.scale is None else networks.rx_spread_ns(entry.scale) / 1000,
            "yes" if entry.scale is not None and entry.scale < 1 else "no",
            "yes" if entry.scale is not None and entry.scale < idle else "no",
        ]
        for entry in found
    ]
    columns = [
        Column("system"), Column("offset"), Column("role"), Column("its mean absolute, us"),
        Column("software is worse from x", 2), Column("stddev of its reception, us", 2),
        Column("at x1"),
        Column(f"at x{idle:g}"),
    ]  # fmt: skip
    return Table(
        "Delay of ordinary reception from which on stamps of software are worse than keepon's",
        "calculated",
        columns,
        rows,
        f"x{SCALES[0]:g} is the least tried: worse everywhere.",
    )


def shape_table(found: Mapping[tuple[Kind, str], Role]) -> Table:
    """What the choice of a shape does: all of them have the published spread, and each its own
    mean.

    Args:
        found: at least all of `shaped_kinds` in both roles.
    """
    rows: list[list[Cell]] = []
    for (sigma, name), kind in shaped_kinds().items():
        values = [value(found[kind, role]) for value in QUANTITIES.values() for role in ROLES]
        rows.append([sigma, kind.rx.mean_ns / 1000, kind.rx.stddev_ns / 1000, name, *values])
    columns = [
        Column("sigma", 2), Column("mean, us", 2), Column("stddev, us", 2), Column("system"),
        *(Column(f"{quantity}, {role}, us") for quantity in QUANTITIES for role in ROLES),
    ]  # fmt: skip
    return Table(
        "By the shape of the delay of reception, which is chosen: mean absolute offset",
        "calculated",
        columns,
        rows,
        "Each shape gives both figures of fejes.fig1, which are of differences and so tell no"
        " mean.",
    )


def sweep_plot(swept: dict[float, dict[str, Role]], keepon: dict[str, dict[str, Role]]) -> Plot:
    """Software's offsets over the spread of its reception, keepon's as level lines."""
    spread = [networks.rx_spread_ns(scale) / 1000 for scale in swept]
    panels = []
    for quantity, value in QUANTITIES.items():
        for role in ROLES:
            curves = [
                Curve("software stamps", spread, [value(found[role]) for found in swept.values()])
            ]
            curves += [
                Curve(name, [spread[0], spread[-1]], [value(roles[role])] * 2, "dashed")
                for name, roles in keepon.items()
            ]
            panels.append(
                Panel(
                    f"{quantity}, as {role}",
                    "stddev of software's reception (us)",
                    "mean absolute offset (us)",
                    curves,
                )
            )
    return Plot(
        "fig12-reception",
        "How uneven ordinary reception must be to be the worse one",
        "calculated",
        panels,
    )
