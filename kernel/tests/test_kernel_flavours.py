# SPDX-License-Identifier: GPL-2.0-only
"""The measured stream and the faults on kernels that are stricter than those of the other tests.

PREEMPT_RT, where a spinlock sleeps and must not be met in the poll's hard interrupt: in `make
test`. Kernels built with KASAN, lockdep with raw lock nesting, sleep checks and kmemleak, and with
KCSAN: in `make soak`. keepon_guests fails a run for every report in the kernel's log; what is
asserted here is that the work was done, and that no frame is lost from the books.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from keepon.targets.vm import observations, programs
from keepon_guests import (
    GuestResult,
    Kernel,
    build_modules,
    get_kernel,
    offered_families,
    run_guest,
)

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
FRAMES = 2_000
OSCILLATOR_PPB = 20_000  # of sim0, as measure_stream.sh makes it
BYTE_PS = 80_000  # 100 Mb/s
# Counters of the card: each frame that left is in one of them. On a busy host the model may have
# been too late for the memory of a frame.
WIRE = ("tx_frames", "tx_bad_fcs", "tx_lost", "tx_cut", "tx_unseen")
WATCHPOINTS_MIN = 10_000  # of a run, by KCSAN
SENT = ("on_time", "moved", "best_effort", "sent_stale")
FAULTS = (
    "stall-within", "stall-beyond", "prefetch-said", "prefetch-unsaid", "fcs", "loss",
    "drift-within", "drift-sudden",
    "drift-beyond", "flap-short", "flap-long", "pause",
)  # fmt: skip


@dataclass(frozen=True)
class Flavour:
    """A kernel and how it is run. `exact`: fast enough that every frame of the stream keeps its
    slot.

    `slow`: by how much the long flap is longer, for a guest in the time of a busy host to hear of
    it.
    """

    name: str
    mode: str = "icount"
    icount_shift: int = 1
    memory_mb: int = 512
    timeout_s: float = 300
    exact: bool = True
    slow: int = 1

    def kernel(self) -> Kernel:
        """The oldest family there is."""
        return get_kernel(offered_families(self.name)[0], self.name)

    def run(self, script: str, **environment: str) -> GuestResult:
        kernel = self.kernel()
        modules = build_modules(
            kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")]
        )
        result = run_guest(
            kernel, HERE / script,
            {**programs.guest_files(), "/lib/keepon/common.sh": HERE / "keepon_common.sh"},
            modules=modules,
            tools=[*programs.tools(), "iperf3"],
            environment=environment, mode=self.mode, icount_shift=self.icount_shift,
            memory_mb=self.memory_mb,
            timeout_s=self.timeout_s, virtual_limit_s=10_000,
        )  # fmt: skip
        print(
            f"{kernel.version} {script}: {result.wall_seconds:.0f} s, {result.virtual_seconds} s in"
            " the guest"
        )
        if self.name == "kcsan":
            watched = observations.read_counters(result.files["kcsan"].decode())
            assert watched["enabled"] == 1
            assert watched["setup_watchpoints"] > WATCHPOINTS_MIN
        return result.check()


RT = Flavour("rt")
# A checked instruction stands for some; they are given as much more virtual time, so that the poll
# keeps its time.
DEBUG = Flavour("debug", icount_shift=0, memory_mb=1024, timeout_s=3600, exact=False)
KCSAN = Flavour("kcsan", mode="smp", memory_mb=1024, timeout_s=3600, exact=False, slow=4)


@pytest.fixture(
    scope="module",
    params=[RT, *(pytest.param(flavour, marks=pytest.mark.soak) for flavour in (DEBUG, KCSAN))],
    ids=lambda flavour: flavour.name,
)
def flavour(request: pytest.FixtureRequest) -> Flavour:
    chosen = request.param
    assert isinstance(chosen, Flavour)
    return chosen


def rest(counters: dict[str, int]) -> int:
    """Frames that were submitted and are in no other counter."""
    ended = sum(value for name, value in counters.items() if name.startswith("verdict_"))
    return counters["submitted"] - ended - counters["pending"]


def read(result: GuestResult, name: str) -> dict[str, int]:
    return observations.read_counters(result.files[name].decode())


def deviations_ps(result: GuestResult) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Distances on the wire, in the NIC's time, less those of the txtimes: from the first frame of
    the stream.
    """
    frames = observations.load_json(result.files, "talk.json")["frames"]
    record = observations.read_wire(result.files["wire"].decode())
    stream = observations.stream_hash("keepon")
    kept = [frame for frame in frames if (stream, frame["seq"]) in record.raw_ps]
    raw_ps = np.array([record.raw_ps[stream, frame["seq"]] for frame in kept], dtype=np.int64)
    local_ps = raw_ps + (raw_ps // 1000 * OSCILLATOR_PPB) // 1_000_000
    txtime_ps = (
        np.array([frame["txtime_ns"] - kept[0]["txtime_ns"] for frame in kept], dtype=np.int64)
        * 1000
    )
    return (local_ps - local_ps[0]) - txtime_ps


@pytest.mark.full
def test_the_stream_beside_tcp(flavour: Flavour) -> None:
    seconds = str(FRAMES // 1000 + 1)
    result = flavour.run(
        "measure_stream.sh",
        WAY="keepon",
        LOAD="tcp",
        FRAMES=str(FRAMES),
        SECONDS_TCP=seconds,
        DELTA_NS="150000",
    )
    assert result.tap.problems() == []
    after = read(result, "after.stats")
    assert rest(after) == 0
    assert after["submitted"] > FRAMES
    if flavour.exact:
        assert after["verdict_on_time"] == FRAMES
        assert after["underruns"] == after["slips"] == 0
        deviation_ps = deviations_ps(result)
        assert len(deviation_ps) == FRAMES
        assert np.ptp(deviation_ps) <= BYTE_PS


@pytest.fixture(scope="module")
def faults(flavour: Flavour) -> GuestResult:
    result = flavour.run("faults_run.sh", SLOW=str(flavour.slow))
    assert result.tap.problems() == []
    return result


@pytest.mark.parametrize("fault", FAULTS)
def test_every_frame_is_accounted_for_by_every_party(
    faults: GuestResult, flavour: Flavour, fault: str
) -> None:
    running, stopped = read(faults, f"{fault}.running"), read(faults, f"{fault}.upper")
    nic, far = read(faults, f"{fault}.nic"), read(faults, f"{fault}.far")
    assert rest(running) == rest(stopped) == stopped["pending"] == 0
    assert stopped["submitted"] > 0
    assert far["rx_frames"] == nic["tx_frames"]
    # In the host's time the guest's CPU may be taken from a poll between its reading and its
    # doorbell. Of a wire that stood meanwhile the core hears later, by a slip, or if it was short
    # not at all.
    if flavour.mode == "icount":
        assert stopped["underruns"] == nic["tx_underruns"]
    assert stopped["underruns"] <= nic["tx_underruns"]
    wire = sum(nic[name] for name in WIRE)
    sent = sum(stopped[f"verdict_{name}"] for name in SENT)
    if fault != "prefetch-unsaid":
        assert sent <= wire <= sent + stopped["verdict_flushed"] + stopped["verdict_in_doubt"]


def test_a_stall_within_the_depth_does_nothing_here_either(
    faults: GuestResult, flavour: Flavour
) -> None:
    stopped = read(faults, "stall-within.upper")
    if flavour.exact:
        assert stopped["verdict_on_time"] == 300
        assert stopped["underruns"] == stopped["slips"] == 0
    assert read(faults, "stall-beyond.upper")["underruns"] >= 1
