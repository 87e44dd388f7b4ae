# SPDX-License-Identifier: BSD-3-Clause
"""How late software stamps what a NIC has received."""

from __future__ import annotations

from keepon.model.hosts import RX_SOURCES, RX_STAGE, Sourced, Stage, chosen, overridden
from keepon.model.scenario import HostTable, Station

_NO_RX = Stage(0, 0, 0.0, 0.0, 0, 0)


def rx_stage(station: Station, scale: float) -> tuple[Stage, list[Sourced]]:
    """From a complete frame at the NIC to software's stamp of it, and where its numbers come from.

    Args:
        station: its host decides; the host "ideal" has none.
        scale: sync.rx_jitter_scale, multiplies the whole delay and so its spread.
    """
    table = station.host if isinstance(station.host, HostTable) else HostTable(base=station.host)
    stage, sources = (_NO_RX, []) if table.base == "ideal" else (RX_STAGE, list(RX_SOURCES))
    stage, sources = overridden(stage, "rx", table.rx, sources)
    if scale != 1.0:
        stage = stage.scaled(scale)
        sources.append(chosen("rx_jitter_scale", scale, "scenario", "rx"))
    return stage, sources
