# SPDX-License-Identifier: BSD-3-Clause
"""Text of a shell as commands, each a list of words that know where they stand.

As much of a shell as published commands and our own scripts use: comments, quotes, lines that go
on, `sudo`, variables that are set in lines of their own. What is behind the first `|`, `&`, `;`,
`<` or `>` belongs to another command and is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from keepon.errors import ConfigError, one_line

TEXT_BYTES_MAX = 1_000_000
_TOKEN = re.compile(
    r"""\\\n | (?P<comment>(?<![^\s])\#[^\n]*) | (?P<end>\n) | (?P<blank>[ \t\r]+)
    | (?P<operator>[|&;<>]+)
    | (?P<word>(?: '[^']*' | "(?:\\.|[^"\\])*" | \\[^\n] | \$\{[^}\n]*\}
        | [^\s'"\\|&;<>] )+)
    | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
_PIECE = re.compile(r"""'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)|([^'"\\]+)""", re.DOTALL)
_SET = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?::-([^}]*))?\})")


@dataclass(frozen=True)
class Word:
    """`place`: the text's name and the line, counted from 1, as messages begin."""

    text: str
    place: str

    def refuse(self, why: str) -> ConfigError:
        """The error that this word is wrong; `why` says what may stand there and a remedy."""
        return ConfigError(f"{self.place}: {one_line(self.text)}: {why}")


def commands(text: str, name: str) -> Iterator[list[Word]]:
    """Words of each command that begins at the left margin; what stands indented is the body of a
    function or a loop.

    Args:
        name: what messages begin with, such as the file's name.

    Raises:
        ConfigError: a quote that does not end, or a text that is too long.
    """
    if len(text) > TEXT_BYTES_MAX:
        raise ConfigError(
            f"{name}: has more than {TEXT_BYTES_MAX} letters; give commands of tc only"
        )
    variables: dict[str, str] = {}
    for written in _split(text, name):
        while written and (match := _SET.fullmatch(written[0].text)) is not None:
            (value,) = _expanded(Word(f'"{_plain(match[2])}"', ""), variables)
            variables[match[1]] = value.text
            written = written[1:]
        words = [word for raw in written for word in _expanded(raw, variables)]
        if words and words[0].text == "sudo":
            words = words[1:]
        if words:
            yield words


def _split(text: str, name: str) -> Iterator[list[Word]]:
    """Words of each line as they are written, as far as they belong to its first command."""
    line, found, passed, at_margin = 1, list[Word](), False, True
    for match in _TOKEN.finditer(text.rstrip("\\") + "\n"):
        place = f"{name}: line {line}"
        if match["wrong"] is not None:
            raise Word(match[0], place).refuse(
                "a quote that does not end; close it, or leave it out"
            )
        passed |= match["operator"] is not None or (at_margin and match["blank"] is not None)
        if match["word"] is not None and not passed:
            found.append(Word(match["word"], place))
        at_margin = match["end"] is not None
        if at_margin:
            yield found
            found, passed = [], False
        line += match[0].count("\n")


def _plain(text: str) -> str:
    return "".join(
        single or re.sub(r"\\(.)", r"\1", double) or letter or rest
        for single, double, letter, rest in _PIECE.findall(text)
    )


def _expanded(raw: Word, variables: dict[str, str]) -> list[Word]:
    """A variable becomes as many words as it has; one that is not known stays as it is written."""

    def value(use: re.Match[str]) -> str:
        known = variables.get(use[1] or use[2], use[3])
        return use[0] if known is None else known

    if "'" in raw.text or "$" not in raw.text:
        return [Word(_plain(raw.text), raw.place)]
    whole = _VARIABLE.sub(value, _plain(raw.text))
    return [Word(part, raw.place) for part in ([whole] if '"' in raw.text else whole.split())]
