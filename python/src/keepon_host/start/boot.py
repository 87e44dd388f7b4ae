# SPDX-License-Identifier: BSD-3-Clause
"""The file of a link that systemd sets up at boot, /etc/keepon/NAME.toml (keepon.machine/1): a
station of a plan, the steps of one, or a link by its options.
"""

from __future__ import annotations

import difflib
import json
import re
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from keepon_host.errors import ConfigError, one_line
from keepon_host.interface import until
from keepon_host.start import direct
from keepon_host.start.steps import Setup, read

SCHEMA = "keepon.machine/1"
IFACE_WAIT_S = 30.0
"""How long the card's driver may take at boot."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,14}")


class _Key(NamedTuple):
    """What a key may be; one whose default is None must be there."""

    default: object
    rule: str
    fits: Callable[[Any], bool]


def _one_of(*values: str | int, default: object = None) -> _Key:
    kind = type(values[0])
    listed = ", ".join(map(json.dumps, values))
    return _Key(
        default, f"must be one of {listed}", lambda one: type(one) is kind and one in values
    )


def _device(default: str | None) -> _Key:
    rule = "must be a letter or digit, then letters, digits and . _ - (15 at most)"
    return _Key(default, rule, lambda one: isinstance(one, str) and bool(_NAME.fullmatch(one)))


def _text(default: str | None) -> _Key:
    return _Key(default, "must be a text in quotes", lambda one: isinstance(one, str))


_FIRST = {
    "schema": _one_of(SCHEMA), "iface": _device(None), "keepon_device": _device("rt0"),
    "driver": _one_of("auto", "keepon", "kernel", default="auto"),
}  # fmt: skip
_TABLES = {
    "plan": {name: _text(None) for name in ("file", "scenario", "station")},
    "steps": {"file": _text(None)},
    "link": {
        "rate_mbps": _one_of(10, 100, 1000, 2500, 5000, 10_000, default=1000),
        "options": _text(""), "ptp": _one_of("none", "follow", "lead", default="none"),
    },
}  # fmt: skip


@dataclass(frozen=True)
class MachineFile:
    """What one card is at boot.

    Attributes:
        table: "plan", "steps" or "link".
        keys: of that table; files are named from the folder of `path`.
    """

    path: Path
    iface: str
    keepon_device: str
    driver: str
    table: str
    keys: dict[str, Any]

    def beside(self, key: str) -> Path:
        """The file that a key names."""
        return self.path.parent / str(self.keys[key])


def _problem(path: Path, key: str, value: object, rule: str) -> ConfigError:
    try:
        shown = json.dumps(value, default=str)
    except (ValueError, RecursionError):
        shown = f"a {type(value).__name__} too large to show"
    return ConfigError(f"{path}: key `{one_line(key)}` = {one_line(shown)}: {rule}")


def _checked(
    path: Path, found: object, keys: Mapping[str, _Key], prefix: str = ""
) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _problem(path, prefix.rstrip("."), found, "must be a table")
    for name, value in found.items():
        if name not in keys:
            near = difflib.get_close_matches(name, keys, 1)
            remedy = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(keys)}"
            raise _problem(path, f"{prefix}{name}", value, f"unknown key; {remedy}")
    for name, key in keys.items():
        if key.default is None and name not in found:
            raise ConfigError(f"{path}: key `{prefix}{name}` is missing; {key.rule}")
        if name in found and not key.fits(found[name]):
            raise _problem(path, f"{prefix}{name}", found[name], key.rule)
    return {name: found.get(name, key.default) for name, key in keys.items()}


def load(path: Path) -> MachineFile:
    """The file's contents.

    Raises:
        ConfigError: it cannot be read, or a key of it is wrong: file, key, value, range.
    """
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: cannot be read as TOML: {one_line(error)}") from error
    tables = {name: document.pop(name) for name in _TABLES if name in document}
    first = _checked(path, document, _FIRST)
    if len(tables) != 1:
        several = f"[{'] and ['.join(tables)}] are there; keep one of them"
        none = "one of [plan], [steps] and [link] is missing; add it"
        raise ConfigError(f"{path}: tables {several}" if tables else f"{path}: {none}")
    if first["iface"] == first["keepon_device"]:
        rule = "must differ from iface; choose another"
        raise _problem(path, "keepon_device", first["keepon_device"], rule)
    (table,) = tables
    keys = _checked(path, tables[table], _TABLES[table], f"{table}.")
    return MachineFile(path, first["iface"], first["keepon_device"], first["driver"], table, keys)


def setup(file: MachineFile) -> Setup:
    """What table [link] or [steps] says.

    Raises:
        ConfigError, TraceError: options of the link, or the file of steps, are wrong.
    """
    if file.table == "steps":
        found = read(file.beside("file"))
        if found.nic != file.iface:
            rule = f"must be {found.nic}, the card of the steps; make them for this card"
            raise _problem(file.path, "iface", file.iface, rule)
        if found.device not in (file.iface, file.keepon_device):
            rule = f"must be {found.device}, as in the steps"
            raise _problem(file.path, "keepon_device", file.keepon_device, rule)
        return found
    options = file.keys["options"]
    try:
        return direct.direct(
            file.path.stem, file.iface, file.keepon_device, file.keys["rate_mbps"],
            direct.words_of(options), file.keys["ptp"],
        )  # fmt: skip
    except ConfigError as error:
        raise _problem(file.path, "link.options", options, str(error)) from error


def wait_for(iface: str) -> None:
    """Until the card's driver has it, or IFACE_WAIT_S is over."""
    until(time.monotonic() + IFACE_WAIT_S, lambda: Path("/sys/class/net", iface).exists())
