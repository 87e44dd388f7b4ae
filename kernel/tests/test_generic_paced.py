# SPDX-License-Identifier: GPL-2.0-only
"""A keepon link with backend generic on cards behind the kernel's own drivers; QEMU's models of
them pace the wire.

The judge is the log of the wire, as in test_nics_paced.py. Those models tell of a frame when it was
fetched: by how much that is before it leaves is what the measurement must find.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import guest_programs
import pytest
from generic_judge import check_claims, read_measured
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from test_nics_paced import BYTE_NS, PLACES, addresses, cards, emulator, lent
from wirelog import FRAMES, PERIOD_NS, STREAM, TROUBLE, Run, counters, read_log

pytestmark = [pytest.mark.vm, pytest.mark.hw]

HERE = Path(__file__).parent
KERNEL = HERE.parent
SLOT_BYTES, TRIM_BYTES = 1230, 8
SLOT_NS = (SLOT_BYTES + 20) * BYTE_NS


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return guest_programs.plugin(tmp_path_factory.mktemp("generic"))


def boot(model: str, ahead: int, plugin: Path, log: Path, more: str = "") -> GuestResult:
    kernel = get_kernel("6.1", "rt")
    modules = build_modules(kernel, [KERNEL / name for name in ("native", "keepon", "generic")])
    ours, theirs = addresses(model)
    files = {**programs.guest_files(), guest_programs.PLUGIN: plugin}
    # 100000 frames a second through a driver of a PREEMPT_RT kernel: at 500 MIPS nothing is left of
    # the CPU for the talker, who was up to 0.4 s late with e1000e and 16 frames fetched ahead
    return run_guest(
        kernel, HERE / "generic_stream.sh", files, modules=modules, tools=[*programs.tools()],
        qemu=emulator(),
        qemu_args=[arg.replace("paced=on", f"paced=on{more}") for arg in cards(model, ahead, log)],
        icount_shift=0, timeout_s=1800,
        environment={"OURS": ours, "THEIRS": theirs, "STOCK": model, "FRAMES": str(FRAMES)},
    )  # fmt: skip


def since_the_start(log: list[Run]) -> list[Run]:
    """What the link has sent: the last of the stretches without a gap between first and last
    placeholder.
    """
    runs = lent(log)
    gaps = [
        place for place, (a, b) in enumerate(pairwise(runs), 1) if b.start_ns != a.end_ns(BYTE_NS)
    ]
    return runs[gaps[-1] if gaps else 0 :]


@pytest.mark.parametrize("ahead", [0, 16])
@pytest.mark.parametrize("model", PLACES)
def test_a_stream_through_the_kernels_own_driver(
    model: str, ahead: int, plugin: Path, tmp_path: Path
) -> None:
    log = tmp_path / "wire.csv"
    result = boot(model, ahead, plugin, log).check()
    assert result.tap.problems() == []
    runs = since_the_start(read_log(log))
    # the whole stream stands in it, so the wire was never idle meanwhile
    starts_ns = [run.start_ns for run in runs if run.kind == STREAM and not run.placeholder]
    assert len(starts_ns) == FRAMES == sum(run.frames for run in runs if run.kind == STREAM)
    assert all(
        abs(start_ns - starts_ns[0] - number * PERIOD_NS) <= 2 * BYTE_NS
        for number, start_ns in enumerate(starts_ns)
    )
    assert {(run.own_fcs, run.good) for run in runs} == {(True, False), (False, True)}
    assert all(abs(run.slot_bytes - SLOT_BYTES) <= TRIM_BYTES for run in runs)
    count = counters(result)
    assert {name: count[name] for name in (*TROUBLE, "verdict_in_doubt") if count[name]} == {}
    real = sum(run.frames for run in runs if not run.placeholder)
    assert count["submitted"] == count["verdict_on_time"] + count["verdict_best_effort"] == real
    assert (
        len(json.loads(result.files["talk.json"])["frames"]) == FRAMES == count["verdict_on_time"]
    )
    measured = read_measured(result, "eth0")
    assert measured.taken_us == pytest.approx(measured.line_us, abs=measured.unsure_us + 1)
    # not more than a link bears
    assert measured.unsure_us <= measured.line_us * 200e-6
    # completed when fetched: that depth, found to the slot
    assert ahead * SLOT_NS <= measured.early_ns < (ahead + 1) * SLOT_NS
    check_claims(count, measured, SLOT_NS)


@pytest.mark.parametrize("mbps", [800, 985, 999])
def test_a_wire_slower_than_its_link_is_refused(mbps: int, plugin: Path, tmp_path: Path) -> None:
    """Link settings say 1000 Mb/s, the wire does less: the frames it sends are not where anybody
    counts them. 999 are five times off what a link bears; 800 are seen at a glance, of 20 ms.
    """
    line_us = 17_500 if mbps == 800 else 437_500
    result = boot("e1000e", 4, plugin, tmp_path / "wire.csv", f",mbps={mbps}")
    assert "a link" in " ".join(map(str, result.tap.problems()))
    said = " ".join(result.stdout.split())
    refused = re.search(
        rf"does not pace: {line_us // 10} frames of 1230 bytes took (\d+) us"
        rf" \((\d+) more or less\), a wire of 1000 Mb/s takes {line_us} us",
        said,
    )
    assert refused, said
    taken_us, unsure_us = map(int, refused.groups())
    assert taken_us == pytest.approx(line_us * 1000 / mbps, abs=unsure_us + 1)
