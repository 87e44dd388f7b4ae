#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""House rules without a compiler: licences named, no registry host or machine path, nothing
unfinished or swallowed.

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
    return problems


def main() -> int:
    files = project_files()
    problems = [problem for path in files for problem in check(path)]
    print("\n".join(problems) or f"{len(files)} files")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
