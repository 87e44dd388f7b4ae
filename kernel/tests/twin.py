# SPDX-License-Identifier: GPL-2.0-only
"""An emulated PC (82574 or 82576) and an emulated Raspberry Pi 4 (GENET), each in an emulator of
its own, on one wire and at one virtual time: `twin-wire` (tools/qemu/twin.patch) lets neither run
ahead of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from test_nics_genet import ADDRESS
from test_nics_genet import emulator as pi_emulator
from test_nics_paced import FIRMWARE, PLACES, emulator

HERE = Path(__file__).parent
SLOT_NS = 10_000
WIRE_NS = 200_000  # until a frame that has left is there: long, for the two wait so often


def wire_end(folder: Path, delay_ns: int, server: bool) -> list[str]:
    options = f"path={folder / 'wire'},server={'on' if server else 'off'},delay={delay_ns}"
    return [
        *("-netdev", "hubport,id=far,hubid=0"),
        *("-device", f"twin-wire,netdev=far,quantum={WIRE_NS},{options}"),
    ]


def common(architecture: Any, script: str, modules: list[str]) -> dict[str, Any]:
    kernel = get_kernel("6.1", architecture)
    scripts = {
        "/lib/keepon/lent.sh": HERE / "lent_common.sh",
        "/lib/keepon/ptp.sh": HERE / "ptp_common.sh",
    }
    return {
        "kernel": kernel, "script": HERE / script,
        "files": {**programs.guest_files(kernel.machine), **scripts},
        "modules": build_modules(kernel, [HERE.parent / name for name in modules]),
        "timeout_s": 3000,
    }  # fmt: skip


def pc(
    folder: Path, script: str, environment: Mapping[str, str], tools: Sequence[str] = (),
    flavour: str = "rt", model: str = "e1000e", **more: Any,
) -> Callable[[], GuestResult]:  # fmt: skip
    """Ready to boot. Its model hands a frame over when it begins, so that it is on the way a slot
    longer.
    """
    place = f"bus=pcie.0,addr={PLACES[model][0]:#x}"
    card = f"{model},netdev=n1,romfile=,{place},mac=52:54:00:00:00:02"
    return partial(
        run_guest, **common(flavour, script, ["native", "nics/intel", "keepon"]),
        tools=[*programs.tools(), *tools], qemu=emulator(),
        environment=environment,
        qemu_args=[
            *(part for place in FIRMWARE for part in ("-L", place)),
            *("-netdev", "hubport,id=n1,hubid=0"),
            *("-device", f"{card},paced=on,ahead=0,wirelog={folder / 'pc.csv'}"),
            *wire_end(folder, WIRE_NS + SLOT_NS, True),
        ],
        **more,
    )  # fmt: skip


def pi(
    folder: Path, script: str, environment: Mapping[str, str], tools: Sequence[str] = (),
    done: bool = False, **more: Any,
) -> Callable[[], GuestResult]:  # fmt: skip
    """Ready to boot. `done`: the index of its model tells of frames that have left."""
    machine = get_kernel("6.1", "arm64").machine
    return partial(
        run_guest, **common("arm64", script, ["native", "nics/genet", "keepon"]),
        tools=[*programs.tools(machine), *tools], qemu=pi_emulator(),
        environment=environment,
        qemu_args=[
            *("-netdev", "hubport,id=n1,hubid=0"),
            *("-net", f"nic,netdev=n1,model=genet,macaddr={ADDRESS}"),
            *("-global", f"bcm2711-genet.wirelog={folder / 'pi.csv'}"),
            *("-global", "bcm2711-genet.prefetch=4"),
            *("-global", f"bcm2711-genet.cons-on-done={'on' if done else 'off'}"),
            *wire_end(folder, WIRE_NS, False),
        ],
        **more,
    )  # fmt: skip


def both(boots: Mapping[str, Callable[[], GuestResult]]) -> dict[str, GuestResult]:
    """What either station left, run at the same time; if one fails, the reason of the first.

    All is built before either boots: the emulators wait for one another for a minute.
    """
    with ThreadPoolExecutor(len(boots)) as pool:
        running = {pool.submit(boot): name for name, boot in boots.items()}
        return {running[one]: one.result() for one in as_completed(running)}
