# SPDX-License-Identifier: BSD-3-Clause
"""`keepon export`: read a scenario and its plan, check that they belong together, hand them to a
format, write.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from keepon_host.interface import check_name

from keepon.cli.options import check_apart
from keepon.errors import ConfigError, one_line, shell_path
from keepon.export import commands, dot, guests, output, tsnkit, tsntool, yang
from keepon.export.exported import Exported, Planned
from keepon.machines.station import vlan_name
from keepon.model import documents, loading
from keepon.model.documents import SVG
from keepon.model.plan import Plan, read
from keepon.model.scenario import Scenario
from keepon.model.topology import check_single_ports
from keepon.planner.verify import problems
from keepon.report import topology

# Devices go into scripts unquoted; the kernel allows 15 bytes.


class Format(NamedTuple):
    """A format: what makes it, whether --out is a folder, and a regular expression for how its one
    file begins if not.
    """

    make: Callable[[Planned], Exported]
    is_folder: bool
    form: str = ""


FORMATS = {
    "commands": Format(commands.export, True),
    "dot": Format(dot.export, False, r'digraph "[^\n]*" \{\n\tgraph \['),
    "yang": Format(yang.export, True),
    "tsnkit": Format(tsnkit.export, True),
    "tsntool": Format(tsntool.export, True),
    "libvirt": Format(partial(guests.export, "libvirt"), True),
    "qemu": Format(partial(guests.export, "qemu"), True),
}


PICTURE = "svg"
"""The one format that needs no plan."""
FORMS = {name: each.form for name, each in FORMATS.items() if not each.is_folder} | {PICTURE: SVG}


def checked_plan(path: Path, scenario: Scenario, source: Path) -> Plan:
    """The plan in `path`, if it holds for the scenario.

    Raises:
        TraceError: it is no plan file.
        ConfigError: it is not feasible, not verified, another scenario's, or fails the independent
            check.
    """
    plan = read(path)
    again = f"; plan again with keepon plan {shell_path(source)} --out {shell_path(path)}"
    if plan.get("status") != "feasible":
        raise ConfigError(
            f'{path}: key `status` = "{one_line(plan.get("status"))}": must be "feasible", there is'
            f" nothing to export; change the scenario as keepon plan {shell_path(source)} says"
        )
    documents.check(path, plan, Plan, again.removeprefix("; "))
    if plan.get("verified") is not True:
        raise ConfigError(f"{path}: key `verified` = {plan.get('verified')}: must be true{again}")
    if plan.get("scenario") != scenario.name:
        raise ConfigError(
            f'{path}: key `scenario` = "{plan.get("scenario")}": must be "{scenario.name}"{again}'
        )
    try:
        found = problems(scenario, plan)
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        ZeroDivisionError,
    ) as error:
        # A file that says it is a plan and lacks its parts; which one is in the error.
        raise ConfigError(
            f"{path}: is not a whole plan ({type(error).__name__}: {error}){again}"
        ) from error
    if found:
        raise ConfigError(f"{path}: does not hold for scenario {source} ({found[0]}){again}")
    return plan


def run(
    source: Path,
    plan: Path | None,
    name: str,
    out: Path,
    force: bool = False,
    device: str = "eth0",
    keepon: str = "rt0",
) -> dict[str, Any]:
    """Export a plan.

    Args:
        source: scenario file.
        plan: its plan, as `keepon plan --out` writes it; None: a picture of the network alone.
        name: format, PICTURE or a key of FORMATS.
        out: file or folder to write.
        force: replace an earlier export.
        device: NIC of every station.
        keepon: keepon device of every station that has one.

    Returns:
        `keepon.export/1`: scenario, format, out, files and notes (what the format cannot carry).

    Raises:
        ConfigError, TraceError: an input is refused; nothing was written.
        EnvironmentProblemError: `out` cannot be written.
    """
    if name not in (*FORMATS, PICTURE):
        names = ", ".join((*FORMATS, PICTURE))
        raise ConfigError(f'option --format = "{name}": must be one of {names}')
    check_name("option --device", device)
    check_name("option --keepon-device", keepon)
    if device == keepon:
        raise ConfigError(
            f'option --keepon-device = "{keepon}": must differ from --device, on which it is made;'
            " choose another name"
        )
    for option, given, below in (
        ("--device", device, device),
        ("--device", device, keepon),
        ("--keepon-device", keepon, keepon),
    ):
        if given == vlan_name(below):
            raise ConfigError(
                f'option {option} = "{given}": is what the VLAN device on {below} is called; choose'
                " another name"
            )
    if plan is None and name != PICTURE:
        raise ConfigError(
            f"option --plan: is missing; make a plan with keepon plan {shell_path(source)} --out"
            " plan.json and name it"
        )
    check_apart("--out", out, source, plan)
    scenario = loading.load(source)
    if name != PICTURE:
        check_single_ports(scenario, "keepon export", str(source))
    document = None if plan is None else checked_plan(plan, scenario, source)
    if name in FORMS:
        output.check_file(out, force, FORMS[name])
    else:
        output.check_folder(out, force)
    if document is None or name == PICTURE:
        exported = Exported({f"{scenario.name}.svg": topology.picture_svg(scenario, document)})
    else:
        exported = FORMATS[name].make(Planned(scenario, document, device, keepon))
    return _written(out, name not in FORMS, exported, scenario.name, name)


def _written(
    out: Path, is_folder: bool, exported: Exported, scenario: str, name: str
) -> dict[str, Any]:
    manifest = {
        "schema": output.EXPORT_SCHEMA, "scenario": scenario, "format": name,
        "files": sorted(exported.files), "notes": exported.notes,
    }  # fmt: skip
    if is_folder:
        output.write_folder(out, exported, manifest)
    else:
        (text,) = exported.files.values()
        output.write_file(out, text)
        manifest["files"] = [out.name]
    return {**manifest, "out": str(out)}
