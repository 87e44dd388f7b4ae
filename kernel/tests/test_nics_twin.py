# SPDX-License-Identifier: GPL-2.0-only
"""ptp4l between an emulated PC and an emulated Raspberry Pi 4 on one wire, both over keepon links.

Two emulators at one virtual time: `twin-wire` (tools/qemu/twin.patch) lets neither run ahead of the
other. How far the clocks are apart is not taken from ptp4l: frames of either station have a stamp
of its clock and an instant in the log of its wire.
"""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from keepon.targets.vm import programs
from keepon.vm import GuestResult, build_modules, get_kernel, run_guest
from test_nics_genet import ADDRESS
from test_nics_genet import emulator as pi_emulator
from test_nics_paced import FIRMWARE, addresses, emulator
from wirelog import STREAM, counters, read_log

pytestmark = [pytest.mark.vm, pytest.mark.hw]

HERE = Path(__file__).parent
SECONDS_PTP = 10
SLOT_NS = 10_000
SPREAD_NS = 1_000
WIRE_NS = 200_000  # until a frame that has left is there: long, for the two wait so often
FAR = re.compile(r"master offset +(-?\d+) s2 freq +[+-]?\d+ path delay +(-?\d+)")


def wire_end(folder: Path, delay_ns: int, server: bool) -> list[str]:
    options = f"path={folder / 'wire'},server={'on' if server else 'off'},delay={delay_ns}"
    return [
        *("-netdev", "hubport,id=far,hubid=0"),
        *("-device", f"twin-wire,netdev=far,quantum={WIRE_NS},{options}"),
    ]


def common(architecture: Any, modules: list[str]) -> dict[str, Any]:
    kernel = get_kernel("6.1", architecture)
    scripts = {
        "/lib/keepon/lent.sh": HERE / "lent_common.sh",
        "/lib/keepon/ptp.sh": HERE / "ptp_common.sh",
    }
    return {
        "kernel": kernel, "script": HERE / "nics_twin.sh",
        "files": {**programs.guest_files(kernel.machine), **scripts},
        "modules": build_modules(kernel, [HERE.parent / name for name in modules]),
        "timeout_s": 3000,
    }  # fmt: skip


def station(card: str, role: str, done: bool) -> dict[str, str]:
    return {
        "CARD": card, "ROLE": role, "SECONDS_PTP": str(SECONDS_PTP),
        "OURS": addresses("e1000e")[0], "INDEX_DONE": str(int(done)),
    }  # fmt: skip


def pc(folder: Path, role: str, done: bool) -> GuestResult:
    """Its model hands a frame over when it begins, so that it is on the way a slot longer."""
    card = "e1000e,netdev=n1,romfile=,bus=pcie.0,addr=0x10,mac=52:54:00:00:00:02"
    return run_guest(
        **common("rt", ["native", "nics/intel", "keepon"]), tools=programs.tools(),
        qemu=emulator(), environment=station("pc", role, done),
        qemu_args=[
            *(part for place in FIRMWARE for part in ("-L", place)),
            *("-netdev", "hubport,id=n1,hubid=0"),
            *("-device", f"{card},paced=on,ahead=0,wirelog={folder / 'pc.csv'}"),
            *wire_end(folder, WIRE_NS + SLOT_NS, True),
        ],
    )  # fmt: skip


def pi(folder: Path, role: str, done: bool) -> GuestResult:
    machine = get_kernel("6.1", "arm64").machine
    return run_guest(
        **common("arm64", ["native", "nics/genet", "keepon"]), tools=programs.tools(machine),
        qemu=pi_emulator(), environment=station("pi", role, done),
        qemu_args=[
            *("-netdev", "hubport,id=n1,hubid=0"),
            *("-net", f"nic,netdev=n1,model=genet,macaddr={ADDRESS}"),
            *("-global", f"bcm2711-genet.wirelog={folder / 'pi.csv'}"),
            *("-global", "bcm2711-genet.prefetch=4"),
            *("-global", f"bcm2711-genet.cons-on-done={'on' if done else 'off'}"),
            *wire_end(folder, WIRE_NS, False),
        ],
    )  # fmt: skip


def clock(result: GuestResult, log: Path) -> npt.NDArray[np.int64]:
    """Of each frame of the stream the instant on the wire and the stamp."""
    runs = [run for run in read_log(log) if run.kind == STREAM and not run.placeholder]
    frames = json.loads(result.files["talk.json"])["frames"]
    assert len(runs) == len(frames) == SECONDS_PTP * 10
    return np.array(
        [(run.start_ns, frame["tx_stamp_ns"]) for run, frame in zip(runs, frames, strict=True)],
        dtype=np.int64,
    )


def apart_ns(near: npt.NDArray[np.int64], far: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """How far the far clock is ahead, at its frames while the near one is known."""
    far = far[(far[:, 0] > near[0, 0]) & (far[:, 0] < near[-1, 0])]
    base = int(near[0, 1] - near[0, 0])
    error = [(clock[:, 1] - clock[:, 0] - base).astype(np.float64) for clock in (near, far)]
    return error[1] - np.interp(far[:, 0], near[:, 0], error[0])


@pytest.mark.parametrize(("master", "done"), [("pc", False), ("pi", True)])
def test_ptp4l_between_a_pc_and_a_pi(master: str, done: bool, tmp_path: Path) -> None:
    """No further apart than what either link says its clock may be off, which is what is not known
    between index and wire; and steadily so.
    """
    roles = {"pc": "slave", "pi": "slave", master: "master"}
    with ThreadPoolExecutor(2) as pool:
        running = [
            pool.submit(boot, tmp_path, roles[name], done)
            for name, boot in (("pc", pc), ("pi", pi))
        ]
        results = dict(zip(roles, (one.result() for one in running), strict=True))
    for result in results.values():
        assert result.check().tap.problems() == []
    slave = "pi" if master == "pc" else "pc"
    clocks = {name: clock(results[name], tmp_path / f"{name}.csv") for name in roles}
    offsets = apart_ns(clocks[master], clocks[slave])
    late = offsets[len(offsets) // 2 :]
    delays = [int(delay) for _, delay in FAR.findall(results[slave].files["ptp4l.txt"].decode())]
    assert delays, results[slave].files["ptp4l.txt"].decode()[-2000:]
    errors = {name: counters(result)["clock_error_ps"] / 1000 for name, result in results.items()}
    print(
        f"master {master}, index {done}: mean {late.mean():.0f} ns, deviation {late.std():.0f},"
        f" most {np.abs(late - late.mean()).max():.0f}; path {np.mean(delays[-50:]):.0f};"
        f" claims {errors}; {results[slave].wall_seconds:.0f} s"
    )
    assert np.abs(late).max() <= sum(errors.values())
    assert late.std() < SPREAD_NS
