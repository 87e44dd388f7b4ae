# SPDX-License-Identifier: BSD-3-Clause
"""Switch schedules for tsntool: a file of `sgs` lines per port, and a script per bridge that loads
them.

Form: KeepON paper artifact, Example 3 (`sgs INTERVAL_NS GATES`; `tsntool st wrcl PORT FILE`;
`tsntool st configure BASE_TIME CYCLE_TIME EXTENSION PORT`, base time in seconds, cycle time as a
fraction of a second).
"""

from __future__ import annotations

from fractions import Fraction

from keepon.errors import ConfigError
from keepon.export.exported import Exported, Planned, Port, filters_left_out, need_gates
from keepon.machines.planned import SECOND_NS


def base_time(ns: int) -> str:
    """Seconds with as many decimals as nanoseconds need.

    >>> base_time(0), base_time(1_000_000_500)
    ('0.0', '1.0000005')
    """
    decimals = f"{ns % SECOND_NS:09d}".rstrip("0") or "0"
    return f"{ns // SECOND_NS}.{decimals}"


def _file(port: Port) -> str:
    return f"{port.bridge}-{port.name}.cfg"


def export(planned: Planned) -> Exported:
    """BRIDGE-PORT.cfg for each gated port, BRIDGE.sh to load those of a bridge.

    Raises:
        ConfigError: there are no gates, or some that need HOLD.
    """
    ports = need_gates(planned, "tsntool")
    if held := [port.bridge for port in ports if port.preemptable]:
        raise ConfigError(
            f'option --format = "tsntool": has no HOLD, and gates of bridge {held[0]} need it for'
            " frame preemption; export commands or yang"
        )
    files = {
        _file(port): "".join(f"sgs {ns} 0x{mask:02x}\n" for mask, ns in port.entries)
        for port in ports
    }
    for bridge in dict.fromkeys(port.bridge for port in ports):
        lines = [
            "#!/bin/sh",
            f"# Gates of bridge {bridge} of scenario {planned.scenario.name}; run as root.",
            "set -e",
        ]
        lines.append('cd "$(dirname "$0")"')
        for port in ports:
            if port.bridge == bridge:
                cycle = Fraction(port.cycle_ns, SECOND_NS)
                times = f"{base_time(port.base_ns)} {cycle.numerator}/{cycle.denominator}"
                lines.append(f"# towards {port.peer}")
                lines.append(f"tsntool st wrcl {port.name} {_file(port)}")
                lines.append(f"tsntool st configure {times} 0 {port.name}")
        files[f"{bridge}.sh"] = "\n".join(lines) + "\n"
    tables = {port.bridge: port.classes for port in ports}
    notes = [
        f"bridge {bridge}: bit n of a gate mask is traffic class n; the switch must have classes"
        f" {' '.join(map(str, classes))} for priorities 0 to 7, which tsntool does not set"
        for bridge, classes in tables.items()
    ]
    return Exported(files, notes + filters_left_out(planned))
