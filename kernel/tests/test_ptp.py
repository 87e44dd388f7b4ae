# SPDX-License-Identifier: GPL-2.0-only
"""ptp4l, phc2sys and virtual clocks on keepon links; how far two clocks are apart is read from
them, not from ptp4l.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from keepon_host.checkout import checkout_root
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
SLOT_NS = 100_000  # of 1230 bytes at 100 Mb/s, with preamble and gap
WIRE_NS = 50  # propagation, the default of hwsim
LINE = re.compile(
    r"ptp4l\[([\d.]+)\]: master offset +(-?\d+) s(\d) freq +[+-]?\d+ path delay +(-?\d+)"
)

# The emulated CPU must not be slower than a small board's: what the simulated NICs cost it makes
# receive stamps late.
ICOUNT_SHIFT = 0
SHORT_S, LONG_S = 6, 60  # after it began to steer

GOAL_NS = 100  # rms of an interpolated clock
# Of the rms, in the table beside what was measured.
GOALS = {"interpolated": f"{GOAL_NS}", "counter": f"{0.3 * SLOT_NS:.0f} to {0.5 * SLOT_NS:.0f}"}


def boot(
    script: str,
    family: str,
    probe_files: dict[str, Path],
    environment: dict[str, str] | None = None,
) -> GuestResult:
    kernel = get_kernel(family)
    modules = build_modules(
        kernel, [HERE.parent / "native", HERE.parent / "hwsim", HERE.parent / "keepon"]
    )
    result = checked(
        lambda: run_guest(
            kernel, HERE / script, probe_files, modules=modules, environment=environment or {},
            icount_shift=ICOUNT_SHIFT, timeout_s=1200,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    return result


SOAK = pytest.mark.soak
FAMILIES = [
    "6.1",
    *(pytest.param(name, marks=SOAK) for name in offered_families() if name != "6.1"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_phc_as_programs_use_it(family: str, probe_files: dict[str, Path]) -> None:
    boot("ptp_phc.sh", family, probe_files)


# ---- two stations


@dataclass(frozen=True)
class Way:
    """How far the slave's clock is ahead of the master's, ns, at times in s since the start.

    `path_delay_ns` is what ptp4l takes for the path's length, `steered_s` when it began to steer.
    """

    name: str
    times_s: npt.NDArray[np.float64]
    offset_ns: npt.NDArray[np.float64]
    path_delay_ns: float
    steered_s: float
    log: str

    def late(self) -> npt.NDArray[np.float64]:
        """The second half of the time it was steered."""
        begun_s = self.steered_s if np.isfinite(self.steered_s) else 0.0
        return self.offset_ns[self.times_s > (begun_s + self.times_s[-1]) / 2]

    @property
    def mean_ns(self) -> float:
        return float(np.mean(self.late()))

    @property
    def rms_ns(self) -> float:
        return float(np.sqrt(np.mean(self.late() ** 2)))

    @property
    def max_ns(self) -> float:
        return float(np.max(np.abs(self.late())))

    @property
    def lock_s(self) -> float:
        """When it is steered and, for a second on, as near as four times the rms of the second
        half, or as the goal: how long a servo takes for its last nanoseconds says nothing of the
        clock."""
        near = (np.abs(self.offset_ns) <= max(4 * self.rms_ns, GOAL_NS)) & (
            self.times_s >= self.steered_s
        )
        for at, time_s in enumerate(self.times_s):
            if np.all(near[at : np.searchsorted(self.times_s, time_s + 1.0)]):
                return float(time_s)
        raise AssertionError(f"{self.name}: never locked")

    def row(self, steered: bool = True) -> str:
        lock = f"{self.lock_s:.1f}" if steered else "-"
        goal = GOALS.get(self.name, "")
        return (
            f"| {self.name} | {self.rms_ns:.0f} | {goal} | {round(self.mean_ns)} |"
            f" {self.max_ns:.0f} | {lock} |"
        )


def read_way(result: GuestResult, name: str) -> Way:
    log = result.files[f"{name}.log"].decode()
    found = LINE.findall(log)
    lines = [(float(time), int(offset), int(delay)) for time, offset, _, delay in found]
    steered = [float(time) for time, _, state, _ in found if state == "2"]
    assert lines, f"{name}: ptp4l never saw a master:\n{log[-2000:]}"
    if name == "software":
        times = np.array([time for time, _, _ in lines])
        offsets = np.array([offset for _, offset, _ in lines], dtype=np.float64)
    else:
        rows = np.array(
            [line.split() for line in result.files[f"{name}.offsets"].decode().splitlines()],
            dtype=np.int64,
        )
        times, offsets = rows[:, 0] / 1e9, rows[:, 1].astype(np.float64)
    delay_ns = float(np.mean([delay for _, _, delay in lines[len(lines) // 2 :]]))
    return Way(name, times - times[0], offsets, delay_ns, (steered or [np.inf])[0] - times[0], log)


@dataclass(frozen=True)
class Measured:
    """All ways on one kernel; `whole`: for the numbers in docs/kernel-measured.md."""

    family: str
    whole: bool
    ways: dict[str, Way]


SHORT_WAYS = ("interpolated", "counter", "hardware", "dual-short")
OTHER_WAYS = ("interpolated-short", "dual")  # booted on their own, within the time a guest may take


@pytest.fixture(
    scope="module",
    params=[
        ("6.1", SHORT_S),
        *(pytest.param((name, LONG_S), marks=SOAK) for name in offered_families()),
    ],
    ids=lambda run: f"{run[0]}-{run[1]}s",
)
def measured(request: pytest.FixtureRequest, probe_files: dict[str, Path]) -> Measured:
    family, seconds = request.param
    whole = seconds == LONG_S
    names = (*SHORT_WAYS, "software") if whole else SHORT_WAYS
    environment = {"WAYS": " ".join(names), "SECONDS_PTP": str(seconds)}
    result = boot("ptp_lock.sh", family, probe_files, environment)
    ways = {name: read_way(result, name) for name in names}
    if whole:
        environment["WAYS"] = " ".join(OTHER_WAYS)
        result = boot("ptp_lock.sh", family, probe_files, environment)
        ways |= {name: read_way(result, name) for name in OTHER_WAYS}
        near_ns, far_ns = calibration(ways["interpolated"])
        environment |= {
            "WAYS": "interpolated-calibrated",
            "INGRESS_NEAR": near_ns,
            "INGRESS_FAR": far_ns,
        }
        ways["interpolated-calibrated"] = read_way(
            boot("ptp_lock.sh", family, probe_files, environment), "interpolated-calibrated"
        )
    return Measured(family, whole, ways)


def calibration(way: Way) -> tuple[str, str]:
    """How late each end stamps, ns: the path seems longer by the mean, the clocks are off by half
    the difference.
    """
    late_ns = way.path_delay_ns - WIRE_NS
    return f"{late_ns + way.mean_ns:.0f}", f"{late_ns - way.mean_ns:.0f}"


def test_it_locks_and_no_port_fails(measured: Measured) -> None:
    for name, way in measured.ways.items():
        assert "UNCALIBRATED to SLAVE" in way.log or name == "software", name
        # the one fault that is ptp4l's own: see ptp_common.sh
        assert way.log.count("FAULT_DETECTED") <= way.log.count("rogue peer delay response"), name
        assert "bad message" not in way.log, name
        # most of the time goes into finding a master; one late stamp in the second after that costs
        # another one
        assert name == "software" or 2 < way.lock_s < 10, name


def test_interpolated_is_hundreds_of_ns_where_the_counter_is_off_by_slots(
    measured: Measured,
) -> None:
    """The goal, 100 ns, is not reached here: docs/kernel-measured.md says what of it is the
    receive stamps'.
    """
    interpolated, counter = measured.ways["interpolated"], measured.ways["counter"]
    # A short run measures one stretch of the servo, which stands off to one side or the other. How
    # far changes with the layout of the guest's memory: nine layouts gave rms 321 to 2192 ns, at
    # most 688 to 3358. What the test holds is that it is far from a slot.
    assert interpolated.rms_ns < (500 if measured.whole else 3_000)
    assert interpolated.max_ns < (3_000 if measured.whole else 5_000)
    # 0.3 to 0.5 of a slot by quantisation alone; what the servo makes of it comes on top
    assert 0.3 * SLOT_NS < counter.rms_ns < 2.0 * SLOT_NS
    assert interpolated.rms_ns < counter.rms_ns / (100 if measured.whole else 16)


def test_two_rings_are_tens_of_ns_where_one_is_hundreds(measured: Measured) -> None:
    """Where slots are short; with slots of 100 us the receive ring's index says no more than the
    stack's own time.
    """
    dual = measured.ways["dual-short"]
    assert dual.rms_ns < (150 if measured.whole else 250)
    assert dual.max_ns < 1_000
    assert dual.rms_ns < measured.ways["interpolated"].rms_ns
    assert abs(dual.path_delay_ns - WIRE_NS) < 500  # a preamble would be 640
    if measured.whole:
        assert dual.rms_ns < measured.ways["interpolated-short"].rms_ns / 3


def test_stamps_are_those_of_the_wire_but_for_the_latency_of_reception(measured: Measured) -> None:
    """A frame takes 100 us from first bit to last; of the path's seeming length only the stack's
    part is left.

    The simulated NIC copies a frame to its skb on arrival, at the expense of the emulated CPU: 9.3
    us in all on 6.1.
    """
    assert 1_000 < measured.ways["interpolated"].path_delay_ns < 12_000
    assert abs(measured.ways["hardware"].path_delay_ns - WIRE_NS) < 5


def test_against_the_other_ways_one_table(measured: Measured) -> None:
    rows = [way.row(name != "software") for name, way in measured.ways.items()]
    kernel = get_kernel(measured.family).version
    table = [
        (
            f"Kernel {kernel}, icount shift {ICOUNT_SHIFT}, 100 Mb/s, slots of {SLOT_NS // 1000}"
            " us; slave less master."
        ),
        "",
        "| way | rms ns | goal ns | mean ns | max ns | time to lock s |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    print("\n".join(table))
    folder = checkout_root() / "out" / "measured"
    folder.mkdir(parents=True, exist_ok=True)
    if measured.whole:
        (folder / f"ptp-{measured.family}.md").write_text("\n".join(table) + "\n")
    assert measured.ways["hardware"].rms_ns < 20
    assert measured.ways["hardware"].rms_ns < measured.ways["interpolated"].rms_ns


def test_calibrated_the_offset_is_its_scatter(measured: Measured) -> None:
    ways = measured.ways
    if not measured.whole:
        # Stamps of received frames are late, never early: of what both ends are late by, the path
        # seems longer by half the sum, and the clocks are apart by half the difference.
        short = ways["interpolated"]
        assert abs(short.mean_ns) < short.path_delay_ns - WIRE_NS
        return
    # each end reads its clock through a strip whose middle is off by as much, for seconds: no mean
    # is smaller than that
    assert abs(ways["interpolated-calibrated"].mean_ns) < 200
    assert abs(ways["interpolated-calibrated"].path_delay_ns - WIRE_NS) < 200
