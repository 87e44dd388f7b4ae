# SPDX-License-Identifier: BSD-3-Clause
"""`python -m keepon.cli.manual FOLDER TOOLS`: all pages and completions into a folder, TOOLS being
the folder of keepon-talk and keepon-listen.
"""

from __future__ import annotations

import sys
from pathlib import Path

from keepon.cli import edge
from keepon.cli.manual import completion, pages


def main() -> int:
    """Write them; exit code."""
    folder, tools = map(Path, sys.argv[1:])
    return edge.guard(lambda: _write(folder, tools))


def _write(folder: Path, tools: Path) -> None:
    for name, text in (pages.texts(tools) | completion.texts()).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
