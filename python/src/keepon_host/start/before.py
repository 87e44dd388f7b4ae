# SPDX-License-Identifier: BSD-3-Clause
"""What undoes each step, made of what there is before the first one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keepon_host.doctor import asked
from keepon_host.errors import EnvironmentProblemError, shell_word
from keepon_host.interface import ip, set_queues
from keepon_host.journal import FOLDER, NIC
from keepon_host.start import steps
from keepon_host.start.steps import Setup, Step

Undo = dict[str, Any]


def _check_root(device: str) -> None:
    """Raises EnvironmentProblemError: its queues could not be put back as they are."""
    for kind in (kind for kind, root in set_queues(device) if root):
        raise EnvironmentProblemError(
            f"{device} has a queueing discipline {kind} at its root, which could not be put"
            f" back as it was; take it away first with tc qdisc del dev {shell_word(device)} root"
        )


def of_step(step: Step, nic: str, up: bool) -> Iterator[Undo]:
    """What undoes a step on the card `nic`, in order; `up`: the card was.

    Raises:
        EnvironmentProblemError: something could not be put back as it is.
    """
    match step:
        case steps.PauseOff():
            its = asked.pause(nic)
            if isinstance(its, asked.Pause) and (its.sends or its.receives):
                flags = {"autoneg": its.negotiated, "rx": its.receives, "tx": its.sends}
                words = [word for key, on in flags.items() for word in (key, ["off", "on"][on])]
                yield {"do": "run", "words": ["ethtool", "-A", NIC, *words]}
        case steps.EeeOff():
            saves = asked.eee(nic)
            if isinstance(saves, asked.Eee) and saves.enabled:
                yield {"do": "run", "words": ["ethtool", "--set-eee", NIC, "eee", "on"]}
        case steps.Linked() if not up:
            yield {"do": "run", "words": ["ip", "link", "set", "dev", NIC, "down"]}
        case steps.AddKeepon():
            yield {"do": "delete", "kind": "keepon"}
        case steps.AddVlan():
            yield {"do": "delete", "kind": "vlan"}
        case steps.RootQueues(device) if device == nic:
            _check_root(nic)
            yield {"do": "queues"}
        case steps.QueueBytes(device) if device == nic:
            file = Path(step.file)
            if file.exists():
                path = step.file.replace(f"/{nic}/", f"/{NIC}/", 1)
                yield {"do": "file", "path": path, "text": file.read_text().strip()}
        case steps.WriteFile(path):
            yield {"do": "remove", "path": path}
        case steps.Ptp4l() | steps.Phc2sys():
            yield {"do": "stop", "program": type(step).__name__.lower()}
            yield {"do": "remove", "path": str(log_path(step))}
            if isinstance(step, steps.Ptp4l):
                yield {"do": "remove", "path": str(FOLDER / step.config)}


def log_path(step: steps.Daemon) -> Path:
    return FOLDER / f"{type(step).__name__.lower()}-{step.node}.log"


def of_setup(setup: Setup) -> list[list[Undo]]:
    """What undoes each of its steps. Raises as `of_step`."""
    (link,) = json.loads(ip("-json", "link", "show", "dev", setup.nic))
    return [list(of_step(step, setup.nic, "UP" in link["flags"])) for step in setup.steps]
