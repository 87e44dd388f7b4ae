# SPDX-License-Identifier: BSD-3-Clause
"""Pages for man(1) and completion: nothing of the commands is missing in them, and the readers of
pages have nothing to say about them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from keepon import __version__
from keepon.cli import completion, export_command
from keepon.model import schemafiles
from keepon_host.checkout import checkout_root

ROOT = checkout_root()
sys.path.append(str(ROOT / "devtools" / "manual"))

import keepon_manual as pages  # noqa: E402
from keepon_manual import Page, inline  # noqa: E402

TOOLS = ROOT / "out/build/python/tools"
NAMES = [
    "keepon.8",
    "keepon.7",
    "keepon-scenario.5",
    "keepon-talk.1",
    "keepon-listen.1",
    "keepon-relay.1",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages as files."""
    folder = tmp_path_factory.mktemp("manual")
    for name, text in pages.texts(TOOLS).items():
        (folder / Path(name).name).write_text(text)
    return folder


def said(*command: Any) -> str:
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "78", "MANROFFSEQ": ""},
    )  # fmt: skip
    return done.stdout + done.stderr


def shown(page: Path) -> str:
    """What a reader sees, in one line without hyphenation."""
    text = said("mandoc", "-Tutf8", "-Owidth=900", page)
    return " ".join(re.sub(".\x08", "", text).split())


def test_all_pages_are_there(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_readers_of_pages_have_nothing_to_say(folder: Path, name: str) -> None:
    page = folder / name
    assert said("mandoc", "-Tlint", page) == ""
    errors = subprocess.run(
        ["man", "-l", "--warnings=w", page], capture_output=True, text=True, check=True
    ).stderr
    assert errors == ""
    assert said("lexgrog", page).startswith(f'{page}: "{page.stem} - ')
    assert f"Keepon {__version__}" in page.read_text()


def test_a_page_with_a_mistake_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "wrong.1"
    page.write_text('.TH WRONG 1 "2026-01-01" "x" "y"\n.SH NAME\nwrong\n.XX\n')
    assert "unknown macro" in said("mandoc", "-Tlint", page)


def test_every_command_and_option_is_in_the_page(folder: Path) -> None:
    text = shown(folder / "keepon.8")
    every = pages.all_commands()
    assert {"keepon run", "keepon link add", "keepon doctor"} <= {path for path, _ in every}
    for path, command in every:
        assert path in text
        for term, meaning in pages.parameters(path, command):
            assert term in text, (path, term)
            assert " ".join(meaning.split()) in text, (path, term)


def test_a_synopsis_says_once_what_may_be_left_out(folder: Path) -> None:
    text = shown(folder / "keepon.8")
    assert "doctor [OPTIONS] [IFACE]" in text
    assert "[[IFACE]]" not in text


@pytest.mark.slow
def test_what_help_prints_is_in_the_page(folder: Path) -> None:
    """Options as the command itself prints them, whatever made the page."""
    text = shown(folder / "keepon.8")
    for path, _ in pages.all_commands():
        words = [ROOT / ".venv/bin/keepon", *path.split()[1:], "--help"]
        if path in ("keepon run", "keepon link set"):
            printed = said(*words)
            options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", printed, re.M)
            assert len(options) > 1
            assert [option for option in options if option not in text] == []


@pytest.mark.parametrize("name", ["keepon-talk", "keepon-listen"])
def test_every_option_of_the_tools_is_in_their_page(folder: Path, name: str) -> None:
    printed = pages.help_of(TOOLS / name)
    options = set(re.findall(r"--[a-z-]+", printed))
    assert len(options) > 8
    text = shown(folder / f"{name}.1")
    assert [option for option in sorted(options) if option not in text] == []
    for line in re.sub(r"^(usage|exit code): ", "", printed, flags=re.MULTILINE).split("\n"):
        assert " ".join(line.split()).lower() in text.lower()


def test_every_key_of_a_scenario_is_in_its_page(folder: Path) -> None:
    text = (folder / "keepon-scenario.5").read_text()
    schema = schemafiles.scenario_schema()
    keys = {key for table in [schema, *schema["$defs"].values()] for key in table["properties"]}
    assert len(keys) > 60
    assert [key for key in sorted(keys) if f"\\fB{key}\\fR" not in text] == []


def test_the_overview_has_the_verdicts_of_the_core(folder: Path) -> None:
    header = (ROOT / "core/include/keepon/frame.h").read_text()
    verdicts = re.findall(r'X\((\w+), [01], "([^"]+)"\)', header)
    assert len(verdicts) > 10
    text = shown(folder / "keepon.7")
    for name, meaning in verdicts:
        assert f"{name.lower()} {meaning[0].upper()}{meaning[1:]}." in text


def test_letters_of_roff_are_letters(tmp_path: Path) -> None:
    page = Page("odd", 1, "2026-01-01", "1")
    page.name_line("letters that mean something to roff")
    page.heading("DESCRIPTION")
    page.paragraph(r"'quoted' \n[x] --long")
    page.verbatim(".SH not a heading\n'br\nplain \\e")
    file = tmp_path / "odd.1"
    file.write_text(page.text())
    assert said("mandoc", "-Tlint", file) == ""
    assert r"'quoted' \n[x] --long .SH not a heading 'br plain \e" in shown(file)
    assert inline("see [`a`](#a) and `b-c`") == "see \\fBa\\fR and \\fBb\\-c\\fR"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "answer"),
    [(["pl"], "plan"), (["run", "--tar"], "--target"), (["link", "wa"], "watch")],
)
def test_bash_completes(tmp_path: Path, words: list[str], answer: str) -> None:
    script = tmp_path / "keepon"
    script.write_text(completion.texts()["completion/bash/keepon"])
    line = " ".join(["keepon", *words])
    asked = (
        f". {script}; complete -p keepon >/dev/null; COMP_WORDS=({line}); COMP_CWORD={len(words)};"
        ' _keepon_completion keepon; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", asked],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{ROOT / '.venv/bin'}:/usr/bin:/bin"},
    )
    assert done.stdout == f"{answer}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["run", "--target", ""], ["sim", "vm", "host"]),
        (["run", "--kernel", ""], ["6.1", "6.12", "newest"]),
        (["new", ""], ["line", "ring", "star", "tree"]),
        (["examples", "three"], ["three-classes", "three-stations"]),
        (["export", "--format", ""], [*export_command.FORMATS, export_command.PICTURE]),
        (["hwcheck", "eth0", "--backend", ""], ["native", "generic"]),
        (["reproduce", "schedul"], ["schedulability"]),
        (["docs", "planner"], ["planner", "planner-measured"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        *(([*words, "l"], ["lo"]) for words in (
            ["doctor"], ["bind"], ["unbind"], ["hwcheck"], ["start"], ["stop"], ["status"],
            ["link", "add"], ["link", "set"], ["link", "show"], ["link", "watch"],
            ["measure", "host"],
        )),
        (["link", "add", "lo", "rt0", "slot"], ["slot_bytes"]),
        (["link", "add", "lo", "rt0", "slot_bytes", "1230", "clock", ""],
         ["interpolated", "counter", "dual"]),
        (["link", "set", "rt0", "clock", "dual", "cl"], ["class"]),
    ],
)  # fmt: skip
def test_values_complete(words: list[str], answer: list[str]) -> None:
    asked = os.environ | {
        completion.VARIABLE: "complete_bash", "COMP_WORDS": " ".join(["keepon", *words]),
        "COMP_CWORD": str(len(words)),
    }  # fmt: skip
    done = subprocess.run(
        [ROOT / ".venv/bin/keepon"], capture_output=True, text=True, check=False, env=asked
    )
    assert done.stdout.split() == answer, done.stderr
