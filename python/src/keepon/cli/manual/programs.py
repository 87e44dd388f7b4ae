# SPDX-License-Identifier: BSD-3-Clause
"""keepon-talk(1) and keepon-listen(1), made of what the programs say with --help."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from keepon.cli.manual.roff import Page
from keepon.errors import EnvironmentProblemError

ABOUT = {
    "keepon-talk": "send a stream, a time in every frame, and tell what became of it",
    "keepon-listen": "receive streams of keepon-talk and tell when what arrived",
}
EXAMPLES = {
    "keepon-talk": "keepon-talk rt0 --period 1ms --priority 7 --count 1000 --hw-stamps",
    "keepon-listen": "keepon-listen eth1 --count 1000 --json listen.json",
}
RESULT = (
    "The result file is JSON, complete or not there at all; its JSON Schema is"
    " `{schema}.schema.json`. Sending needs root, or CAP_NET_RAW and CAP_NET_ADMIN."
)
_OPTION = re.compile(r"^  (--\S.*?)(?: {2,}(\S.*))?$")
_FURTHER = re.compile(r"^ {8,}(\S.*)$")


def help_of(program: Path) -> str:
    """What it prints with --help.

    Raises:
        EnvironmentProblemError: it does not run.
    """
    try:
        done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EnvironmentProblemError(
            f"{program}: does not run ({error}); run `scripts/setup`"
        ) from None
    return done.stdout


def _lines(page: Page, text: str) -> None:
    """Paragraphs and options of the help behind its usage, in their order."""
    entries: list[list[str]] = []
    words: list[str] = []

    def flush() -> None:
        for term, meaning in entries:
            page.entry(term, meaning)
        if words:
            page.paragraph(" ".join(words))
        entries.clear()
        words.clear()

    for line in text.split("\n"):
        option, further = _OPTION.match(line), _FURTHER.match(line)
        if option:
            if words:
                flush()
            entries.append([option[1], option[2] or "Print this, or the version, and stop."])
        elif further and entries:
            entries[-1][1] += f" {further[1]}"
        elif re.fullmatch(r"[a-z]+", line):
            flush()
            page.subheading(line.capitalize())
        elif line:
            if entries:
                flush()
                page.lines.append(".PP")
            words.append(line.strip())
        else:
            flush()
    flush()


def program_page(name: str, text: str, day: str, version: str) -> Page:
    """The page of a program, `text` being its help."""
    usage, _, rest = text.partition("\n\n")
    body, _, codes = rest.partition("\nexit code: ")
    about, _, options = body.partition("\n\n")
    page = Page(name, 1, day, version)
    page.name_line(ABOUT[name])
    page.heading("SYNOPSIS")
    page.verbatim(re.sub(r"^(usage:| {6}) ", "", usage, flags=re.MULTILINE))
    page.heading("DESCRIPTION")
    page.paragraph(" ".join(about.split()))
    page.heading("OPTIONS")
    _lines(page, options)
    page.heading("EXIT STATUS")
    page.paragraph(" ".join(codes.split()))
    page.heading("RESULTS")
    page.paragraph(RESULT.format(schema=name.removeprefix("keepon-")))
    page.heading("EXAMPLES")
    page.verbatim(EXAMPLES[name])
    (other,) = set(ABOUT) - {name}
    page.see_also(f"{other}(1)", "keepon(8)", "keepon(7)", "tc-etf(8)")
    return page
