# SPDX-License-Identifier: BSD-3-Clause
"""What undoes each step, made of what there is before the first one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keepon.errors import EnvironmentProblemError, shell_word
from keepon.linux.apply import steps
from keepon.linux.apply.journal import FOLDER, NIC
from keepon.linux.apply.steps import Setup, Step
from keepon.linux.doctor import asked
from keepon.linux.doctor.checks import Unseen
from keepon.linux.interface import ip, queues, run
from keepon.linux.taken import check_alone, masquerading_ends

Undo = dict[str, Any]


def _root(device: str) -> list[str] | None:
    """Words that make the root queueing discipline again; None: the kernel makes it by itself.

    Raises:
        EnvironmentProblemError: nobody could make it again.
    """
    found = queues(device)
    roots = [each for each in found if each.root]
    if not roots or roots[0].handle == "0:":  # tc does not list a noop
        return None
    (root,) = roots
    words = ["root", "handle", root.handle, root.kind]
    if root.kind == "pfifo_fast" and len(found) == 1:
        return words
    if root.kind in ("pfifo", "bfifo") and len(found) == 1:
        return [*words, "limit", _limit(device)]
    raise EnvironmentProblemError(
        f"{device} has a queueing discipline {root.kind} at its root, which could not be put back"
        f" as it was; take it away first with tc qdisc del dev {shell_word(device)} root"
    )


def _limit(device: str) -> str:
    """Of a pfifo or bfifo at the root, to the byte, which tc tells in JSON alone."""
    (root,) = json.loads(run("tc", "-j", "qdisc", "show", "dev", device))
    return str(int(str(root["options"]["limit"]).rstrip("pb")))


def of_step(step: Step, nic: str, up: bool, never_up: bool) -> Iterator[Undo]:
    """What undoes a step on the card `nic`, in order; `up`: the card was; `never_up`: nor was it
    ever, so that it has no queues.

    Raises:
        EnvironmentProblemError: something could not be put back as it is.
    """
    match step:
        case steps.PauseOff():
            its = asked.pause(nic)
            if isinstance(its, Unseen):
                raise EnvironmentProblemError(f"{nic} does not tell about pause frames: {its.why}")
            if its is not None and (its.sends or its.receives):
                flags = {"autoneg": its.negotiated, "rx": its.receives, "tx": its.sends}
                words = [word for key, on in flags.items() for word in (key, ["off", "on"][on])]
                yield {"do": "run", "words": ["ethtool", "-A", NIC, *words]}
        case steps.EeeOff():
            saves = asked.eee(nic)
            if isinstance(saves, Unseen):
                raise EnvironmentProblemError(f"{nic} does not tell about EEE: {saves.why}")
            if saves is not None and saves.enabled:
                yield {"do": "run", "words": ["ethtool", "--set-eee", NIC, "eee", "on"]}
        case steps.Linked() if not up:
            yield {"do": "run", "words": ["ip", "link", "set", "dev", NIC, "down"]}
            if never_up:
                yield {"do": "noop"}
        case steps.AddKeepon():
            yield {"do": "delete", "kind": "keepon", "name": step.device}
        case steps.AddVlan():
            yield {"do": "delete", "kind": "vlan", "name": step.device}
        case steps.RootQueues(device) if device == nic:
            yield {"do": "queues", "words": _root(nic)}
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


def check_ways(setup: Setup) -> list[str]:
    """Whether the card's own traffic may go by the link that is made; lines on what that ends.

    Raises:
        EnvironmentProblemError: something would not go as it does now.
    """
    return [
        f"# {masquerading_ends(step.nic, step.device)}"
        for step in setup.steps
        if isinstance(step, steps.TakeRoutes) and check_alone(step.nic, step.device)
    ]


def of_setup(setup: Setup) -> list[list[Undo]]:
    """What undoes each of its steps. Raises as `of_step`."""
    (link,) = json.loads(ip("-json", "link", "show", "dev", setup.nic))
    # tc does not list a noop.
    up, never_up = "UP" in link["flags"], link.get("qdisc") == "noop"
    return [list(of_step(step, setup.nic, up, never_up)) for step in setup.steps]
