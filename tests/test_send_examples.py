# SPDX-License-Identifier: BSD-3-Clause
"""examples/send.c compiles without a warning, and it and send.py send every frame on lo, which
takes frames with a txtime and sends them at once; needs root or user namespaces.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from core_model.build import compiler, run

EXAMPLES = Path(__file__).parent.parent / "examples"
FRAMES = 20
IN_NAMESPACE = 'ip link set lo up; "$@"; grep ^Udp: /proc/net/snmp'


@pytest.mark.parametrize("name", ["send.c", "send.py"])
def test_the_examples_send_a_frame_each_millisecond(name: str, tmp_path: Path) -> None:
    sender: list[str | Path] = [sys.executable, EXAMPLES / name]
    if name.endswith(".c"):
        sender = [tmp_path / "send"]
        run([compiler(), "-Wall", "-Wextra", "-Werror", EXAMPLES / name, "-o", *sender])
    rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    namespace = ["unshare", *rights, "--net", "sh", "-ec", IN_NAMESPACE, "sh"]
    done = run([*namespace, *sender, "lo", "127.0.0.1", str(FRAMES)])
    said, names, values = done.stdout.splitlines()
    assert said == f"{FRAMES} sent, 0 missed"
    counters = dict(zip(names.split()[1:], values.split()[1:], strict=True))
    assert int(counters["OutDatagrams"]) == FRAMES
