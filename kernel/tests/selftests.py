# SPDX-License-Identifier: GPL-2.0-only
"""The kernel's own tests for guests: taken from the distribution's source package and built when
tests run, never kept here and never changed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from keepon_guests import source
from keepon_guests.paths import find_program

HERE = Path(__file__).parent
FOLDER = "/lib/selftests"
PROGRAMS = ("net/so_txtime", "net/txtimestamp", "ptp/testptp")
# What their scripts and ours call beyond what a guest has: those of the distribution, not applets.
TOOLS = ("bash", "ping", "ping6", "jq", "mausezahn", "date", "sort", "mktemp", "iperf3")


def build(source_file: Path, headers: Path, program: Path) -> None:
    command = ["gcc", "-O2", "-static", f"-I{headers}", "-o", program, source_file, "-lrt"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def guest_files(family: str, folder: Path) -> dict[str, Path | bytes]:
    """Guest path -> the scripts below net/, ptp/ and tc-testing/ in `FOLDER` with their programs,
    and bash where they look for it; programs are built in `folder`.
    """
    root = source.selftests(family)
    tests = root / "tools" / "testing" / "selftests"
    # of this kernel, not of the machine; all others are the machine's
    headers = folder / "include" / "linux"
    headers.mkdir(parents=True)
    (headers / "ptp_clock.h").write_bytes(
        (root / "include" / "uapi" / "linux" / "ptp_clock.h").read_bytes()
    )
    files: dict[str, Path | bytes] = {
        f"{FOLDER}/{path.relative_to(tests)}": path
        for name in (
            "net/*.sh",
            "net/forwarding/*.sh",
            "ptp/*.sh",
            "tc-testing/scripts/*.sh",
            "tc-testing/tc-tests/qdiscs/taprio.json",
        )
        for path in tests.glob(name)
    }
    for name in PROGRAMS:
        program = folder / Path(name).name
        build(tests / f"{name}.c", headers.parent, program)
        files[f"{FOLDER}/{name}"] = program
    files["/bin/bash"] = find_program("bash")
    files["/lib/keepon/selftests/ip"] = HERE / "selftests_ip.sh"
    return files
