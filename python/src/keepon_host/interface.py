# SPDX-License-Identifier: BSD-3-Clause
"""What an interface has, and whether it is still reached: for commands that change one while people
work over it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line

ROLLBACK_MAX_S = 3600.0
LOOK_S = 0.1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")


def check_name(option: str, name: str) -> None:
    """Raises ConfigError: no device can have that name."""
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f'{option} = "{one_line(name)}": must be a device name of 1 to 15 letters, digits, ".",'
            ' "_" or "-"; ip link lists those there are'
        )


def run(*words: str) -> str:
    """What a command prints.

    Raises:
        EnvironmentProblemError: it is not installed, or fails; its own words are passed on.
    """
    try:
        # A session of its own: Ctrl-C is for who called us, and not for a command half way.
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise EnvironmentProblemError(f"{words[0]}: {error.strerror}") from error
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        raise EnvironmentProblemError(f"{' '.join(words)}: {one_line(said, 200)}")
    return done.stdout


def ip(*words: str) -> str:
    """What `ip` prints; raises as `run`."""
    return run("ip", *words)


def set_queues(device: str) -> list[tuple[str, bool]]:
    """Queueing disciplines of a device that the kernel has not made by itself: kind, and whether it
    is the root. Their JSON is none for some kinds. Raises as `run`.
    """
    lines = run("tc", "qdisc", "show", "dev", device).splitlines()
    found = (line.split() for line in lines if line.startswith("qdisc "))
    return [(words[1], words[3:4] == ["root"]) for words in found if words[2] != "0:"]


def until(deadline_s: float, found: Callable[[], Any]) -> Any:
    """What `found` gives as soon as it is true, or its last answer when the time is over."""
    while not (answer := found()) and time.monotonic() < deadline_s:
        time.sleep(LOOK_S)
    return answer


def has_carrier(name: str) -> bool:
    try:
        return (Path("/sys/class/net") / name / "carrier").read_text().strip() == "1"
    except OSError:  # the interface is down, or gone
        return False


def answers(address: str) -> bool:
    """Whether an address answers an echo within a second.

    Raises:
        EnvironmentProblemError: there is no ping.
    """
    words = ["ping", "-n", "-q", "-c", "1", "-W", "1", address]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except OSError as error:
        raise EnvironmentProblemError(
            "ping is not installed, which tells whether you are still connected: apt-get install"
            " iputils-ping"
        ) from error


def next_hop_known(address: str, name: str) -> bool:
    """Whether the next hop towards an address has said its MAC address on an interface, as every
    station must, also one that answers no echo.
    """
    with suppress(EnvironmentProblemError):  # no route
        (route,) = json.loads(ip("-json", "route", "get", address))
        hop = route.get("gateway", address)
        found = json.loads(ip("-json", "neigh", "show", "to", hop, "dev", name) or "[]")
        return any("lladdr" in each for each in found)
    return False


def client_over(name: str) -> str:
    """The other end of the ssh connection this runs over, if that is reached by the interface, or
    by what is built on it; else nothing.
    """
    client = _ssh_connection().split(" ")[0]
    if not client:
        return ""
    _, _, zone = client.partition("%")  # of a link-local address
    if zone:
        return client if zone == name else ""
    (route,) = json.loads(ip("-json", "route", "get", client))
    return client if _is_over(route.get("dev", ""), name) else ""


def _is_over(name: str, lower: str) -> bool:
    """Whether frames of an interface leave by `lower`, as those of a bridge or VLAN on it do."""
    below = [each.name[6:] for each in Path("/sys/class/net", name).glob("lower_*")]
    return name == lower or any(_is_over(each, lower) for each in below)


def _ssh_connection() -> str:
    """SSH_CONNECTION of this process or of an ancestor: sudo takes it out of the environment."""
    connection, process = os.environ.get("SSH_CONNECTION", ""), "self"
    while not connection and process != "0":
        try:
            process = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[1]
            environment = Path("/proc", process, "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or there is none
            break
        for entry in environment:
            if entry.startswith(b"SSH_CONNECTION="):
                connection = os.fsdecode(entry.partition(b"=")[2])
    return connection
