#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The core as a kernel module on every set of kernel headers under /usr/src, with W=1 and no
warning.

Works in a throw-away folder out/kbuild/VERSION of links to core/src, so that no object lands beside
a source. The module is complete (licence, no unresolved symbol), because modpost finds library
calls the compiler lets pass.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from common import OUT, ROOT, cpu_count, run_quiet

MODULE = "keepon_core"
GLUE = """// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>

MODULE_DESCRIPTION("Keepon core, compilation check");
MODULE_LICENSE("GPL");
"""


def header_folders() -> list[Path]:
    """Build folders of complete header packages (the -common ones hold only sources)."""
    return sorted(
        path
        for path in Path("/usr/src").glob("linux-headers-*")
        if (path / "Module.symvers").is_file()
    )


def prepare(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    objects = []
    for source in sorted((ROOT / "core" / "src").iterdir()):
        if source.suffix in (".c", ".h"):
            (folder / source.name).symlink_to(source)
        if source.suffix == ".c":
            objects.append(f"{source.stem}.o")
    (folder / f"{MODULE}_glue.c").write_text(GLUE)
    includes = [f"-I{ROOT / 'core' / name}" for name in ("include", "platform/kernel")]
    (folder / "Kbuild").write_text(
        f"obj-m := {MODULE}.o\n{MODULE}-y := {MODULE}_glue.o {' '.join(objects)}\nccflags-y :="
        f" {' '.join(includes)}\n"
    )


def check(headers: Path) -> str:
    """Compiler output if the module does not build or warns; empty if it is clean."""
    folder = OUT / "kbuild" / headers.name
    prepare(folder)
    done = run_quiet(["make", "-C", headers, f"M={folder}", "W=1", f"-j{cpu_count()}", "modules"])
    # Debian's headers name the compiler of the archive; a patch level more is no finding about our
    # code.
    lines = [line for line in done.stdout.splitlines() if "the compiler differs" not in line]
    if done.returncode or any(
        "warning:" in line.lower() or "WARNING: modpost" in line for line in lines
    ):
        return "\n".join([f"{headers.name}:", *lines])
    return ""


def main() -> int:
    headers = header_folders()
    if not headers:
        print("no kernel headers under /usr/src: scripts/setup kernel installs them")
        return 1
    problems = [problem for problem in map(check, headers) if problem]
    print("\n".join(problems) or ", ".join(path.name for path in headers))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
