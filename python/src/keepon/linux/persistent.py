# SPDX-License-Identifier: BSD-3-Clause
"""A card that goes to Keepon's driver at every boot: a unit of systemd that runs `keepon bind`
before the network is set up.

Source: systemd.unit(5), systemd.service(5); systemd.special(7) on network-pre.target.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import keepon
from keepon.errors import EnvironmentProblemError

UNITS = Path("/etc/systemd/system")
WANTS = UNITS / "multi-user.target.wants"
RUNNING = Path("/run/systemd/system")
"""Exists where systemd is the first process: sd_booted(3)."""

UNIT = """\
# Written by keepon bind --persistent; keepon unbind takes it away.
[Unit]
Description=Keepon's driver for {name}
DefaultDependencies=no
Wants={device} network-pre.target
After={device} local-fs.target
Before=network-pre.target

[Service]
Type=oneshot
RemainAfterExit=yes
Environment="PYTHONPATH={packages}"
ExecStart="{python}" -m keepon.linux.bind bind "{name}"

[Install]
WantedBy=multi-user.target
"""


# Links that systemd sets up on cards, all of them: what their files are called says nothing of the
# card.
AFTER = """\
# Written by keepon bind --persistent; keepon unbind takes it away.
[Unit]
After={unit}
"""
LINKS = "keepon@.service.d"


def _escaped(name: str) -> str:
    """A name within that of a unit, systemd.unit(5), "String escaping for inclusion in unit
    names".
    """
    return "".join(
        c
        if c.isascii() and (c.isalnum() or c in ":_.")
        else "".join(f"\\x{byte:02x}" for byte in c.encode())
        for c in name
    )


def _unit(name: str) -> str:
    return f"keepon-bind-{_escaped(name)}.service"


def _quoted(text: str) -> str:
    """Text of a unit's value in double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def check_possible() -> None:
    """Whether this machine starts units of systemd.

    Raises:
        EnvironmentProblemError: it does not.
    """
    if not UNITS.is_dir():
        raise EnvironmentProblemError(
            f"option --persistent: {UNITS} is not there, this machine starts without systemd; have"
            " keepon bind called where it sets up its network"
        )


def _reload() -> None:
    if RUNNING.is_dir():
        subprocess.run(["systemctl", "daemon-reload"], capture_output=True, check=False)


def _files(name: str) -> tuple[Path, Path, Path]:
    """The unit, what starts it at boot, and what has links wait for it."""
    unit = UNITS / _unit(name)
    return unit, WANTS / unit.name, UNITS / LINKS / f"{unit.stem}.conf"


def keep(name: str) -> Path:
    """Have the interface's card bound at every boot, before links are set up on it; the unit's
    file.

    Raises:
        EnvironmentProblemError: a file cannot be written; none is left.
    """
    check_possible()
    unit, link, after = _files(name)
    text = UNIT.format(
        name=_quoted(name),
        device=f"sys-subsystem-net-devices-{_escaped(name)}.device",
        packages=_quoted(str(Path(keepon.__file__).parents[1])),
        python=_quoted(sys.executable),
    )
    try:
        for file in (link, after):
            file.parent.mkdir(exist_ok=True)
            file.unlink(missing_ok=True)
        unit.write_text(text)
        after.write_text(AFTER.format(unit=unit.name))
        link.symlink_to(unit)
    except OSError as error:
        with suppress(EnvironmentProblemError):
            forget(name)
        raise EnvironmentProblemError(
            f"option --persistent: {error.filename or unit}: {error.strerror}"
        ) from error
    _reload()
    return unit


def forget(name: str) -> bool:
    """Bound at no boot any more; whether it was.

    Raises:
        EnvironmentProblemError: a file cannot be taken away.
    """
    unit, link, after = _files(name)
    was = unit.exists()
    try:
        for file in (link, after, unit):
            file.unlink(missing_ok=True)
        if after.parent.is_dir() and not any(after.parent.iterdir()):
            after.parent.rmdir()
    except OSError as error:
        raise EnvironmentProblemError(f"{error.filename}: {error.strerror}") from error
    if was:
        _reload()
    return was
