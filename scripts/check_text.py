#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""House rules without a compiler: licences named, no registry host or machine path, nothing
unfinished or swallowed, pages of a readable size, links that lead somewhere, words of the field.

Looks at every file git knows or would add. The patterns are put together from parts so that this
file passes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from common import ROOT, run_quiet

CODE_SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".py", ".pyi"}
TEXT_SUFFIXES = CODE_SUFFIXES | {
    ".toml",
    ".txt",
    ".md",
    ".json",
    ".sh",
    ".html",
    ".j2",
    ".cmake",
    "",
}
# The longest matching folder counts.
LICENCES = {
    "core/": "GPL-2.0-only OR BSD-3-Clause",
    "kernel/": "GPL-2.0-only",
    "bench/kernel/": "GPL-2.0-only",
    "kernel/include/uapi/": "GPL-2.0-only OR BSD-3-Clause",
}
DEFAULT_LICENCE = "BSD-3-Clause"
LINES_MAX = 800


def pattern(*alternatives: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join("".join(parts) for parts in alternatives))


EVERYWHERE = {
    "names a registry host": pattern(
        ("py", r"pi\.org"), ("python", r"hosted\.org"), ("deb", r"\.debian\.org"),
        ("security", r"\.debian\.org"),
        ("crates", r"\.io"), ("registry", r"\.npmjs"), ("proxy", r"\.golang"),
    ),
    "names a path of one machine": pattern(
        (r"(?<![\w.])/", r"(work|farm|root)/"), ("bash", "_jobs"), (r"\.\./", "shared"),
    ),
}  # fmt: skip
IN_CODE = {
    "is unfinished": pattern((r"\b(", "TO", "DO|", "FIX", r"ME)\b"), ("NotImplemented", "Error")),
    "passes over a test or an error": pattern(
        (r"pytest\.", "skip"), (r"mark\.", "skip"), ("x", "fail"), (r"\|\| *", "true"),
        ("assert ", "True"),
        (r"except", r":"), (r"except \w+: *", "pass"),
    ),
}  # fmt: skip

LINE_MAX, CELL_MAX, PAGE_LINES_MAX = 160, 200, 300
"""Of pages; a row of a table is one line, so its cells count."""
GENERATED = {"docs/scenario.md"}
DIALECT = pattern(
    (
        r"(?<![A-Za-z])(t", "old|who", "ever|some", "body|un", "hurried|hur", r"ry|an",
        r"ew)(?![A-Za-z])",
    ),
    ("nobody ", "but"), (r"\w_ins", r"tead(?![A-Za-z])"), (r"(?<![A-Za-z])ins", r"tead_\w"),
)  # fmt: skip
"""Words that hide who does what to whom: name the subject, and say it in the field's words."""
DIALECT_STEMS = pattern(("t", "old|a", "part|be", "side|ins", "tead"))
"""No names of modules; as adverbs they are English."""


def project_files() -> list[Path]:
    done = run_quiet(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    )
    if done.returncode:
        sys.exit(f"git ls-files failed: {done.stdout.strip()}")
    return sorted(
        ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()
    )


def check(path: Path) -> list[str]:
    name = path.relative_to(ROOT).as_posix()
    if path.suffix not in TEXT_SUFFIXES or name.startswith("LICENSES/"):
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    problems = []
    rules = EVERYWHERE | (
        IN_CODE if path.suffix in CODE_SUFFIXES or name.startswith("scripts/") else {}
    )
    for number, line in enumerate(lines, 1):
        problems += [
            f"{name}:{number}: {what}: {line.strip()}"
            for what, rule in rules.items()
            if rule.search(line)
        ]
    if path.suffix in CODE_SUFFIXES and lines:
        folder = max((entry for entry in LICENCES if name.startswith(entry)), key=len, default="")
        wanted = LICENCES.get(folder, DEFAULT_LICENCE)
        mark = f"SPDX-License-Identifier: {wanted}"
        if not any(line.rstrip(" */").endswith(mark) for line in lines[:2]):
            problems.append(f"{name}: first line must say {mark}")
        if len(lines) > LINES_MAX and "/tests/" not in f"/{name}":
            problems.append(f"{name}: {len(lines)} lines; split it (limit {LINES_MAX})")
    if path.suffix in CODE_SUFFIXES | {".sh"}:
        problems += check_dialect(name, lines)
    return problems


def is_page(name: str) -> bool:
    """Whether a person writes and reads it."""
    return name.endswith(".md") and ("/" not in name or name.startswith("docs/"))


def check_page(name: str, lines: list[str]) -> list[str]:
    """Of lengths and words; of the changelog the words of what is not released yet."""
    problems = []
    if name == "CHANGELOG.md":
        lines = "\n".join(lines).partition("\n## [0")[0].split("\n")
    elif len(lines) > PAGE_LINES_MAX:
        problems.append(f"{name}: {len(lines)} lines; split it (limit {PAGE_LINES_MAX})")
    problems += check_dialect(name, lines)
    for number, line in enumerate(lines, 1):
        here = f"{name}:{number}"
        if name == "CHANGELOG.md":
            continue
        if line.startswith("|"):
            longest = max(len(cell.strip()) for cell in line.strip("|").split(" | "))
            if longest > CELL_MAX:
                problems.append(f"{here}: a cell of {longest} characters (limit {CELL_MAX})")
        elif len(line) > LINE_MAX:
            problems.append(f"{here}: {len(line)} characters (limit {LINE_MAX})")
    return problems


def anchors(path: Path) -> set[str]:
    """As GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    return {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", text, re.M)
    }


def check_links(path: Path) -> list[str]:
    problems = []
    for link in re.findall(r"\]\(([^)\s:]+)\)", path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target)):
            problems.append(f"{path.relative_to(ROOT)}: the link {link} leads nowhere")
    return problems


def check_dialect(name: str, lines: list[str]) -> list[str]:
    problems = [
        f"{name}:{number}: '{word[0]}': name who does it, in words of the field"
        for number, line in enumerate(lines, 1)
        if (word := DIALECT.search(line))
    ]
    for part in Path(name).stem.split("_"):
        if DIALECT_STEMS.fullmatch(part):
            problems.append(f"{name}: '{part}': name the file by what is in it")
    return problems


def main() -> int:
    files = project_files()
    problems = [problem for path in files for problem in check(path)]
    for path in files:
        name = path.relative_to(ROOT).as_posix()
        if is_page(name):
            problems += check_links(path)
            if name not in GENERATED:
                problems += check_page(name, path.read_text(encoding="utf-8").splitlines())
    print("\n".join(problems) or f"{len(files)} files")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
