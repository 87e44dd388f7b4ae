# SPDX-License-Identifier: GPL-2.0-only
"""The reader of tc's commands takes the sequences that Linux takes, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from guest_programs import compiled
from keepon.errors import ConfigError
from keepon.model.qdiscs import reader
from keepon_guests import get_kernel, offered_families, run_guest
from repeats import checked

HERE = Path(__file__).parent
SEQUENCES = HERE / "qdisc_sequences.txt"
SCRIPT = HERE / "qdisc_sequences.sh"
WANTED = dict(
    reversed(re.split(r" *\| *", line, maxsplit=1))
    for line in SEQUENCES.read_text().splitlines()
    if not line.startswith("#")
)


SILENT = {
    "speed not known, windows of 50 us": "0",
    "speed not known, windows of 200 us": "3",
    "speed known, windows of 50 us": "3",
    "link was down": "0",
    "gates given again": "3",
    "etf without delta": "sent 20 missed 20 invalid 0",
    "late at etf": "sent 0 missed 0 invalid 20",
}
"""What Linux does without a word, as docs/qdiscs.md has it."""


def options() -> dict[str, str]:
    """What names stand for, as the guest's script has it."""
    text = SCRIPT.read_text()
    gates = re.search(r'^GATES="(.*)"$', text, re.MULTILINE)
    assert gates is not None
    found = re.findall(r'^\t\t([A-Z_]+)\) echo "(.*)" ;;$', text, re.MULTILINE)
    return {name: words.replace("$GATES", gates[1]) for name, words in found}


def commands(sequence: str) -> str:
    words = options()
    lines = [[words.get(word, word) for word in command.split()] for command in sequence.split(";")]
    return "\n".join(f"tc qdisc {line[0]} dev d0 {' '.join(line[1:])}" for line in lines)


@pytest.mark.parametrize("sequence", WANTED)
def test_the_reader_takes_what_linux_takes(sequence: str) -> None:
    text = commands(sequence)
    if WANTED[sequence] == "yes":
        reader.parse_one(text, "text")
        return
    with pytest.raises(ConfigError, match=rf"^text: line {text.count(chr(10)) + 1}: "):
        reader.parse_one(text, "text")


@pytest.mark.vm
@pytest.mark.each_kernel
@pytest.mark.parametrize("family", offered_families())
def test_linux_takes_them_so(family: str, tmp_path: Path) -> None:
    sender = compiled(tmp_path, "txtime_sender")
    files = {"/lib/keepon/sequences.txt": SEQUENCES, "/usr/bin/txtime_sender": sender}
    result = checked(lambda: run_guest(get_kernel(family), SCRIPT, files))
    print(result.stdout)
    found = dict(
        reversed(re.split(r"(?: [^|]*)?\| *", line, maxsplit=1))
        for line in result.stdout.splitlines()
    )
    assert found == WANTED
    assert dict(re.findall(r"^(.*): (.*)$", result.files["silent"].decode(), re.M)) == SILENT
    kinds = {entry["kind"]: entry for entry in json.loads(result.files["counted"])}
    taprio, etf = kinds["taprio"], kinds["etf"]
    assert (taprio["drops"], taprio["qlen"], etf["drops"], etf["qlen"]) == (0, 20, 20, 0)
