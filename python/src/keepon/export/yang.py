# SPDX-License-Identifier: BSD-3-Clause
"""Gate lists of bridges as JSON of the YANG modules of IEEE Std 802.1Qcw-2023, a document per
bridge.

Tree: ietf-interfaces:interfaces/interface (RFC 8343), in it ieee802-dot1q-bridge:bridge-port, in it
traffic-class/traffic-class-table and ieee802-dot1q-sched-bridge:gate-parameter-table with the
leaves of ieee802-dot1q-sched (revision 2023-10-22). Encoding: RFC 7951, so that numbers of 64 bits
are strings and identities carry their module's name.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from keepon.errors import ConfigError
from keepon.export.exported import Exported, Planned, Port, filters_left_out, need_gates
from keepon.machines.planned import SECOND_NS
from keepon.model.gates import ALL_GATES
from keepon.model.preemption import HOLD

INT32_MAX = 2**31 - 1


def rational(ns: int, what: str) -> dict[str, int]:
    """A time as numerator and denominator of seconds, in lowest terms (12.29.1 of IEEE Std
    802.1Q-2022).

    Raises:
        ConfigError: the terms exceed the module's int32.

    >>> rational(1_000_000, "")
    {'numerator': 1, 'denominator': 1000}
    """
    seconds = Fraction(ns, SECOND_NS)
    if seconds.numerator > INT32_MAX:
        raise ConfigError(
            f'option --format = "yang": {what} has a cycle of {ns} ns, which as a fraction of a'
            f" second has a numerator above {INT32_MAX}; choose periods with a shorter least common"
            " multiple"
        )
    return {"numerator": seconds.numerator, "denominator": seconds.denominator}


def _operation(port: Port, mask: int) -> str:
    if not port.preemptable:
        return "set-gate-states"
    return "set-and-hold-mac" if mask & HOLD else "set-and-release-mac"


def _table(port: Port) -> dict[str, Any]:
    cycle = rational(port.cycle_ns, f"bridge {port.bridge} towards {port.peer}")
    entries = [
        {
            "index": index,
            "operation-name": f"ieee802-dot1q-sched:{_operation(port, mask)}",
            "time-interval-value": ns,
            "gate-states-value": mask & ALL_GATES,
        }
        for index, (mask, ns) in enumerate(port.entries)
    ]
    return {
        "gate-enabled": True,
        "admin-gate-states": ALL_GATES,
        "admin-control-list": {"gate-control-entry": entries},
        "admin-cycle-time": cycle,
        "admin-cycle-time-extension": 0,
        "admin-base-time": {
            "seconds": str(port.base_ns // SECOND_NS),
            "nanoseconds": port.base_ns % SECOND_NS,
        },
        "config-change": True,
        # The module's `must` compare the lists above with these, and are false where they are
        # absent.
        "supported-list-max": len(entries),
        "supported-cycle-max": dict(cycle),
        "supported-interval-max": max(ns for _, ns in port.entries),
    }


def export(planned: Planned) -> Exported:
    """BRIDGE.json for each bridge with gates; an interface is called swpN after the N-th link of
    the bridge.

    Raises:
        ConfigError: there are no gates, or a cycle does not fit the module.
    """
    ports = need_gates(planned, "yang")
    files = {}
    for bridge in dict.fromkeys(port.bridge for port in ports):
        interfaces = [
            {
                "name": port.name,
                "description": f"{bridge} towards {port.peer}",
                "type": "iana-if-type:ethernetCsmacd",
                "ieee802-dot1q-bridge:bridge-port": {
                    "traffic-class": {
                        "traffic-class-table": {
                            "number-of-traffic-classes": port.queues,
                            **{f"priority{n}": own for n, own in enumerate(port.classes)},
                        }
                    },
                    "ieee802-dot1q-sched-bridge:gate-parameter-table": _table(port),
                },
            }
            for port in ports
            if port.bridge == bridge
        ]
        document = {"ietf-interfaces:interfaces": {"interface": interfaces}}
        files[f"{bridge}.json"] = json.dumps(document, indent=1) + "\n"
    note = (
        "supported-list-max, supported-cycle-max and supported-interval-max say what the lists"
        " need, not what the bridge can; leave them out where the bridge states its own"
    )
    notes = [note, *filters_left_out(planned)]
    if any(port.preemptable for port in ports):
        notes.append("which priorities are preemptable is left out: --format commands has it")
    return Exported(files, notes)
