# SPDX-License-Identifier: GPL-2.0-only
"""A publisher and a subscriber that know nothing of time-sensitive networking, each in a guest with
four virtio queues, over both datapaths of a host: all messages come back, gates and etf in the
guest have the class's queue. Times of emulated CPUs beside other work are printed, not judged.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import pytest
from guest_pair import run_pair
from guest_programs import compiled

pytestmark = [pytest.mark.vm, pytest.mark.slow]

COUNT = 300
CASES = ("plain-16", "plain-64", "plain-256", "taprio-64", "etf-64")


@pytest.mark.parametrize("switch", ["bridge", pytest.param("userspace", marks=pytest.mark.full)])
def test_every_message_passes_both_guests_and_their_host(switch: str, tmp_path: Path) -> None:
    guests = run_pair(switch, "6.12", tmp_path, compiled(tmp_path, "publisher"))
    assert guests["publisher"].tap.problems() == [], guests["publisher"].stdout
    files = {name: data.decode() for name, data in guests["publisher"].files.items()}
    for case in CASES:
        answers = [tuple(map(int, line.split(":"))) for line in files[case].split()]
        numbers, ns = zip(*answers, strict=True)
        found = "in order" if list(numbers) == sorted(numbers) else "out of order"
        print(f"{switch} {case}: median round trip {statistics.median(ns) // 1000:.0f} us, {found}")
        assert sorted(numbers) == list(range(COUNT)), case
    for case in ("taprio", "etf"):
        passed = re.findall(
            r"parent 100:(\d) .*\n Sent \d+ bytes (\d+) pkt", files[f"qdiscs-{case}"]
        )
        assert sorted((int(count) >= COUNT, queue) for queue, count in passed) == [
            (False, "1"), (False, "2"), (False, "3"), (True, "4"),
        ], passed  # fmt: skip
