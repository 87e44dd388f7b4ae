# SPDX-License-Identifier: BSD-3-Clause
"""All pages of the manual."""

from __future__ import annotations

import datetime
import os
from importlib import resources
from pathlib import Path

from keepon import __version__
from keepon.cli.manual import commands, programs
from keepon.cli.manual.roff import Page
from keepon.model import schemadoc, schemafiles


def scenario_page(day: str, version: str) -> Page:
    """The format of scenario files."""
    page = Page("keepon-scenario", 5, day, version)
    page.name_line("a network, its stations and streams in a file")
    page.heading("DESCRIPTION")
    page.paragraph(
        "A scenario is one TOML file, read by `keepon plan` and `keepon run`. `keepon new` writes"
        " a commented one to begin with; the examples that came with Keepon are commented too."
    )
    page.paragraph(
        "Units are the last part of every name; `frame_bytes` and `slot_bytes` include the FCS."
        " Times are at the reference plane, the first bit after the SFD. Names have 1 to 64"
        " letters, digits, `.`, `_` or `-`, a letter or digit first. Unknown keys are refused."
    )
    page.heading("TABLES AND KEYS")
    for section in schemadoc.scenario_sections(schemafiles.scenario_schema()):
        page.subheading(section.title or "Top of the file")
        if section.title:
            page.paragraph(section.meaning)
        if section.same:
            page.paragraph("The same keys: " + ", ".join(f"`{name}`" for name in section.same))
        for key, kind, among, default, meaning in section.keys:
            limits = f"{kind}: {among}" if among else kind
            state = default if default == "required" else f"default {default}"
            details = limits if default == "-" else f"{limits}; {state}"
            page.entry(key.strip("`"), f"{meaning.rstrip('.')}. ({details})")
    page.see_also("keepon(8)", "keepon(7)")
    return page


OVERVIEW = "keepon.7"


def day() -> str:
    """Of SOURCE_DATE_EPOCH where it is set, so that builds repeat; else today."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.datetime.now(datetime.UTC)
    when = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC) if epoch else now
    return when.date().isoformat()


def texts(tools: Path) -> dict[str, str]:
    """Text of every page by its file's name below the folder of pages, `man/keepon.8`."""
    today = day()
    made = [
        commands.keepon_page(today, __version__),
        scenario_page(today, __version__),
        *(
            programs.program_page(name, programs.help_of(tools / name), today, __version__)
            for name in programs.ABOUT
        ),
    ]
    found = {f"man/{page.name}.{page.section}": page.text() for page in made}
    overview = resources.files("keepon.cli.manual").joinpath(OVERVIEW).read_text("utf-8")
    found[f"man/{OVERVIEW}"] = overview.replace("@DAY@", today).replace("@VERSION@", __version__)
    return found
