# SPDX-License-Identifier: BSD-3-Clause
"""The script of a station: it is set up whole, or left as it was and told why. Its steps are those
of keepon.machines.station.
"""

from __future__ import annotations

from keepon_host.start import steps

from keepon.export import shell
from keepon.machines.planned import ETHERNET_MTU
from keepon.machines.station import FCS_BYTES, HEADER_BYTES, Machine, setup, stream_lines
from keepon.model.framelengths import long_flows
from keepon.model.scenario import Station
from keepon.model.wire import FRAME_BYTES_MAX


def mtu_note(machine: Machine) -> str | None:
    """What small slots mean for the card's own traffic."""
    stations = [entry for entry in machine.scenario.station if entry.name in machine.linked]
    mtus = {entry.name: machine.mtu(entry) for entry in stations}
    small = {name: mtu for name, mtu in mtus.items() if mtu is not None and mtu < ETHERNET_MTU}
    if not small:
        return None
    told = ", ".join(f"{name} {mtu}" for name, mtu in small.items())
    return (
        f"slots carry the card's own frames up to an MTU below {ETHERNET_MTU}, and longer ones are"
        f" dropped: {told}; longer slot_bytes or frame_bytes_max in the scenario raise it"
    )


def long_frames_note(machine: Machine) -> str | None:
    """What frames need that are longer than those of Ethernet's own MTU."""
    mtus = dict[str, int]()
    for flow in long_flows(machine.scenario):
        mtu = flow.frame_bytes - HEADER_BYTES - FCS_BYTES
        for name in flow.ends:
            mtus[name] = max(mtu, mtus.get(name, 0))
    if not mtus:
        return None
    told = ", ".join(f"{name} {mtu}" for name, mtu in mtus.items())
    return (
        f"frames above {FRAME_BYTES_MAX} bytes need jumbo frames in every switch on their way, and"
        f" an MTU (ip link set ... mtu) at their stations, which the scripts leave alone: {told}"
    )


def first_frames_note(machine: Machine) -> str | None:
    """What the first frames of a card with launch times need."""
    names = [
        entry.name
        for entry in machine.scenario.station
        if machine.talks(entry.name) and machine.driver(entry.name) == "launchtime"
    ]
    if not names:
        return None
    return (
        f"{', '.join(names)}: a queue of a card with launch times takes a second frame only when"
        " its first one has left, because byte queue limits begin at 0; send one frame of each"
        " class alone before the streams, or their first frames may be lost"
    )


def script(machine: Machine, station: Station) -> str:
    """The whole script."""
    found = setup(machine, station)
    roots = [step.device for step in found.steps if isinstance(step, steps.RootQueues)]
    lines = [
        "#!/bin/sh",
        f"# {found.title[0].upper()}{found.title[1:]}, driver {machine.driver(station.name)}; run"
        " as root.",
        *(f"# {line}" for line in stream_lines(machine, station)),
        shell.begin(),
        "# Nothing is changed before all that is needed is there.",
        *shell.needs(found.needs, [found.nic], [name for name in roots if name == found.nic]),
        shell.helpers(shell.made(found.steps)),
        *(line for step in found.steps for line in shell.lines(step)),
        "finished=1",
    ]
    return "\n".join(lines) + "\n"
