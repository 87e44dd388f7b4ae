# SPDX-License-Identifier: BSD-3-Clause
"""All pages of the manual."""

from __future__ import annotations

import datetime
import os
from importlib import resources
from pathlib import Path

from keepon import __version__
from keepon.cli.manual import commands, programs, scenario

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
        scenario.scenario_page(today, __version__),
        *(
            programs.program_page(name, programs.help_of(tools / name), today, __version__)
            for name in programs.ABOUT
        ),
    ]
    found = {f"man/{page.name}.{page.section}": page.text() for page in made}
    overview = resources.files("keepon.cli.manual").joinpath(OVERVIEW).read_text("utf-8")
    found[f"man/{OVERVIEW}"] = overview.replace("@DAY@", today).replace("@VERSION@", __version__)
    return found
