# SPDX-License-Identifier: BSD-3-Clause
"""keepon(8): every command, argument and option, as `--help` tells them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from keepon.cli.app import app
from keepon.cli.manual.roff import Page
from keepon.cli.shared import EXIT_CODES

AS_IT_IS = "\b"
ABOUT = "frames at their instants: plan, simulate, run, look after links"
FILES = {
    "out/NAME/": "Result folder of a run: result.json, plan.json, report.html, captures. `--out`"
    " names another.",
    "/usr/share/doc/keepon/": "README, documents and `examples/`, where the Debian package put"
    " them.",
    "/usr/share/keepon/schemas/": "JSON Schemas of scenario files and of every document written.",
    "/etc/keepon/": "Links that are set up at boot.",
}


def _commands(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command with its full name, groups before what is in them."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{path} {name}")


def all_commands() -> list[tuple[str, Any]]:
    """Full name and command object of all that `keepon` has, itself first."""
    main = typer.main.get_command(app)
    return [("keepon", main), *_commands(main, "keepon")]


def _context(path: str, command: Any) -> Any:
    return command.context_class(command, info_name=path)


def parameters(path: str, command: Any) -> list[tuple[str, str]]:
    """How each argument and option is written, and its help."""
    context = _context(path, command)
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    return [(str(term), str(text)) for term, text in filter(None, records)]


def _usage(path: str, command: Any) -> str:
    return " ".join([path, *command.collect_usage_pieces(_context(path, command))])


def _flowed(text: str | None) -> str:
    return " ".join((text or "").split())


def _help(page: Page, text: str | None) -> None:
    """Help as click shows it: paragraphs, and behind a mark of its own lines as they are."""
    for part in inspect.cleandoc(text or "").split("\n\n"):
        if part.startswith(AS_IT_IS):
            page.verbatim(part.removeprefix(AS_IT_IS).lstrip("\n"))
        elif part:
            page.paragraph(_flowed(part))


def _describe(page: Page, path: str, command: Any) -> None:
    page.verbatim(_usage(path, command))
    _help(page, command.help)
    for term, text in parameters(path, command):
        page.entry(term, _flowed(text))
    if _flowed(command.epilog) != _flowed(EXIT_CODES):
        _help(page, command.epilog)


def keepon_page(day: str, version: str) -> Page:
    """The whole command."""
    (_, main), *rest = all_commands()
    page = Page("keepon", 8, day, version)
    page.name_line(ABOUT)
    page.heading("SYNOPSIS")
    page.verbatim("\n".join(_usage(path, command) for path, command in [("keepon", main), *rest]))
    page.heading("DESCRIPTION")
    _help(page, main.help)
    page.paragraph(
        "Results go to standard output, progress and errors to standard error. `NO_COLOR` and"
        " `COLUMNS` are obeyed; what goes into a pipe is plain text. What Keepon is, and its words,"
        " are in keepon(7)."
    )
    for term, text in parameters("keepon", main):
        page.entry(term, _flowed(text))
    page.heading("COMMANDS")
    for path, command in rest:
        page.subheading(path)
        _describe(page, path, command)
    page.heading("EXIT STATUS")
    page.paragraph(_flowed(EXIT_CODES))
    page.heading("FILES")
    for name, text in FILES.items():
        page.entry(name, text)
    page.see_also(
        "keepon(7)", "keepon-scenario(5)", "keepon-talk(1)", "keepon-listen(1)", "ip-link(8)",
        "tc(8)", "ptp4l(8)",
    )  # fmt: skip
    return page
