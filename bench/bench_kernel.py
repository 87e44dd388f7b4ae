# SPDX-License-Identifier: BSD-3-Clause
"""Cost of the modules in the guest, in instructions: prints a table, writes out/bench/kernel.json.

QEMU with `-icount shift=0` advances the time stamp counter by one with each instruction;
`kernel/meter` reads it around a call. Nothing is estimated: a count is what was executed, by
Debian's 6.1 kernel (retpolines patched out, mitigations=off). It says nothing of caches or cycles,
and each byte of a `rep movsb` counts as one, so copying a frame costs its length. All is run twice
and must repeat exactly.

What is counted:
  xmit        ndo_start_xmit, from call to return, interrupts off: keepon.ko takes its lock,
              describes the frame, the core writes it into its slot, account, unlock. Not: making
              the skb, the qdisc, the transmit lock. `armed`: txtime 1 ms ahead, the slot is in the
              ring and real at return. `held`: 10 ms ahead, to the heap. `any_slot`: without txtime;
              `card`: the same on the device below.
  idle poll   what one hard timer interrupt takes from a loop that does nothing: entry, hrtimer,
              keepon's beat, setting the timer, exit. `stopped` is an interrupt of the same kernel
              without keepon (its tick).
  per slot    what all interrupts take from that loop, less what they take without keepon, for each
              slot time that passes: with the default batch and depth, 10 us a slot.
  padding     xmit as `armed` with padding deferred and on demand: 60, 200 and 1196 bytes one after
              the other, then 60 again. Of that last row the largest is a slot in which 1136 bytes
              are to be zeroed, the smallest one where none are.
  `own` leaves out what the operations of the backend take (kernel/plain: read_index, buffer,
  commit, retire, set_length, doorbell); reading the CPU counter is in. `all` has them. A real
  backend's are a few stores. Ordinary drivers, for comparison: hwsim's, whose number contains its
  model of a NIC; e1000e of the kernel, where the NIC is QEMU's and costs no instruction.
Values are medians; smallest and largest stand beside them in the JSON. Goals are said reached or
missed. What was once reached is a ceiling. Exit code 0 if everything was measured and repeated, 1
if a figure is above its ceiling, 3 if something was not measured.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from keepon.errors import KeeponError
from keepon.targets.vm.programs import guest_files
from keepon_guests import Kernel, build_modules, get_kernel, run_guest, twice

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "out" / "build" / "bench-kernel"
RESULT = ROOT / "out" / "bench" / "kernel.json"
CORE_RESULT = ROOT / "out" / "bench" / "core.json"
CORE_INDEX = "done"
FAMILY = "6.1"
PLAIN, METER = ROOT / "bench" / "kernel" / "plain", ROOT / "bench" / "kernel" / "meter"
NATIVE, KEEPON, HWSIM = (ROOT / "kernel" / name for name in ("native", "keepon", "hwsim"))
SHORT, LONG = 60, 1196  # frame bytes without FCS
LINE = re.compile(r"keepon_meter: (.*?) count=(\d+) failures=(\d+) (.*)$", re.MULTILINE)
COMMAND_FILE = "/sys/module/keepon_meter/parameters/run"

# Every measurement: name in the result, command of the meter.
KEEPON_STEPS = {
    "xmit_armed_60": f"xmit rt0 {SHORT} 500 1000000",
    "xmit_armed_1196": f"xmit rt0 {LONG} 500 1000000",
    "xmit_held_60": f"xmit rt0 {SHORT} 500 10000000",
    "xmit_any_slot_60": f"xmit rt0 {SHORT} 500 0",
    "xmit_card_60": f"xmit bench0 {SHORT} 500 0",
    "idle_poll": "gaps 1000",
}
KEEPON_UP = """
modprobe keepon_plain
ip link set bench0 up
modprobe keepon
modprobe keepon_meter
ip link add link bench0 name rt0 type keepon
ip link set rt0 up
sleep 0.2
"""
PADDINGS = ("deferred", "on-demand")
PADDING_STEPS = {
    f"xmit_{bytes_}": f"xmit rt0 {bytes_} 499 1000000" for bytes_ in (SHORT, 200, LONG)
} | {"xmit_60_after_1196": f"xmit rt0 {SHORT} 498 1000000"}
KEEPON_END = """
sleep 0.1
ethtool -S rt0 > /out/counters
ip link set rt0 down
"""
HWSIM_UP = """
modprobe keepon_hwsim
echo "nic sim0 mode=ordinary
nic sim1 mode=ordinary
link sim0 sim1" > /sys/kernel/debug/keepon_hwsim/control
ip link set sim0 up
ip link set sim1 up
sleep 0.1
"""
SLOT_INSTRUCTIONS = (
    10_000  # 10 us: the counter advances by one a nanosecond, and by one an instruction
)
# Figure: goal, and what has been reached and must not rise. Of `all`, the backend's operations
# included.
GOALS = {"instructions_per_slot": (25, 24), "xmit_60": (550, 680)}
E1000E = ["-netdev", "hubport,id=n0,hubid=0", "-device", "e1000e,netdev=n0,romfile="]


class BenchError(KeeponError):
    """A measurement is missing or did not happen as meant; the message says which."""


def steps_script(steps: dict[str, str]) -> str:
    # An idle guest first: what setting up has left behind must not be counted.
    return "".join(
        f'sleep 0.05\necho "{command}" > {COMMAND_FILE} || exit 1\n' for command in steps.values()
    )


def read_lines(log: str, steps: dict[str, str]) -> dict[str, dict[str, int]]:
    found = {}
    for what, count, failures, values in LINE.findall(log):
        if int(failures):
            raise BenchError(f"{what}: {failures} of {count} frames were not taken")
        found[what] = {"count": int(count)} | {
            name: int(value) for name, value in (pair.split("=") for pair in values.split())
        }
    missing = [command for command in steps.values() if command not in found]
    if missing:
        raise BenchError(f"no result of: {missing[0]}")
    return {name: found[command] for name, command in steps.items()}


def measure(
    kernel: Kernel,
    folders: list[Path],
    script: str,
    steps: dict[str, str],
    qemu_args: list[str] | None = None,
    qemu: Path | None = None,
) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Results of the steps and counters of rt0; BenchError unless two runs give the same."""
    # A folder of its own: a test that rebuilds a module meanwhile must not change what the second
    # run loads.
    modules = build_modules(kernel, folders, build_root=BUILD)

    runs = twice(
        lambda: run_guest(
            kernel,
            script,
            guest_files(kernel.machine),
            modules=modules,
            icount_shift=0,
            timeout_s=300,
            qemu_args=qemu_args or [],
            qemu=qemu,
        ).check()
    )
    first, second = (read_lines(run.kernel_log, steps) for run in runs)
    differing = [
        f"{name}: {first[name]} and {second[name]}" for name in steps if first[name] != second[name]
    ]
    if differing:
        raise BenchError(f"two runs gave different counts of {differing[0]}")
    rows = runs[0].files.get("counters", b"").decode().splitlines()[1:]
    pairs = (row.split(":") for row in rows)
    return first, {name.strip(): int(value) for name, value in pairs}


def with_keepon(kernel: Kernel) -> dict[str, dict[str, int]]:
    """keepon.ko on the plain backend."""
    steps = KEEPON_STEPS | {"stopped": "gaps 100"}
    script = (
        KEEPON_UP + steps_script(KEEPON_STEPS) + KEEPON_END + steps_script({"stopped": "gaps 100"})
    )
    rows, counters = measure(kernel, [NATIVE, PLAIN, KEEPON, METER], script, steps)
    wanted = {
        "verdict_on_time": 1500,
        "verdict_best_effort": 1000,
        "prebuffered": 500,
        "underruns": 0,
        "slips": 0,
    }
    wrong = {
        name: counters.get(name) for name, value in wanted.items() if counters.get(name) != value
    }
    if wrong:
        raise BenchError(f"frames did not go as meant: {wrong}, not {wanted}")
    return rows


def with_padding(kernel: Kernel, padding: str) -> dict[str, dict[str, int]]:
    """keepon.ko on the plain backend, the rest of a slot zeroed sooner or later."""
    up = KEEPON_UP.replace("type keepon", f"type keepon padding {padding}")
    rows, counters = measure(
        kernel,
        [NATIVE, PLAIN, KEEPON, METER],
        up + steps_script(PADDING_STEPS) + KEEPON_END,
        PADDING_STEPS,
    )
    if (counters.get("verdict_on_time"), counters.get("underruns")) != (3 * 499 + 498, 0):
        raise BenchError(f"frames with padding {padding} did not go as meant: {counters}")
    return rows


def ordinary(kernel: Kernel, driver: str) -> dict[str, dict[str, int]]:
    device = "sim0" if driver == "hwsim" else "eth0"
    steps = {f"xmit_{size}": f"xmit {device} {size} 500 0" for size in (SHORT, LONG)}
    if driver == "hwsim":
        up = HWSIM_UP
        folders, arguments = [NATIVE, HWSIM, METER], []
    else:
        up = f"modprobe {driver}\nip link set eth0 up\nsleep 5\n"
        folders, arguments = [METER], E1000E
    script = f"{up}\nmodprobe keepon_meter\n{steps_script(steps)}"
    return measure(kernel, folders, script, steps, arguments)[0]


def per_slot(rows: dict[str, dict[str, int]]) -> dict[str, float]:
    """Instructions that keepon takes for each slot time, and slots from one interrupt to
    the next.
    """
    running, stopped = rows["idle_poll"], rows["stopped"]

    def share(kind: str) -> float:
        taken = (
            running[f"{kind}_sum"] / running["elapsed"]
            - stopped[f"{kind}_sum"] / stopped["elapsed"]
        )
        return round(taken * SLOT_INSTRUCTIONS, 2)

    slots = running["elapsed"] / SLOT_INSTRUCTIONS
    return {
        "all": share("all"),
        "own": share("own"),
        "slots_per_interrupt": round(slots / running["count"], 2),
    }


def judge(figures: dict[str, float]) -> dict[str, dict[str, float | bool]]:
    return {
        name: {
            "value": value,
            "goal": GOALS[name][0],
            "reached": value <= GOALS[name][0],
            "ceiling": GOALS[name][1],
        }
        for name, value in figures.items()
    }


def core_figures() -> dict[str, Any] | None:
    """What bench-core found of the index that hwsim's NICs have by default, for comparison; None if
    it has not been run.
    """
    if not CORE_RESULT.is_file():
        return None
    core = json.loads(CORE_RESULT.read_text())[CORE_INDEX]
    return {"idle_poll": core["idle_poll_instructions"]["8"], "insert": core["insert_instructions"]}


def print_table(
    measured: dict[str, dict[str, dict[str, int]]], core: dict[str, Any] | None
) -> None:
    print(f"{'median instructions':42} {'own':>8} {'all':>8} {'smallest':>9} {'largest':>8}")
    for group, rows in measured.items():
        for name, row in rows.items():
            values = (
                f"{row['own_median']:8} {row['all_median']:8} {row['all_min']:9} {row['all_max']:8}"
            )
            print(f"{group + '.' + name:42} {values}")
    if core:
        print(
            f"the core alone (bench-core): insert {core['insert']}, idle poll with batch 8"
            f" {core['idle_poll']}"
        )
    print("own: without the backend's operations; smallest and largest are of all")


def main() -> int:
    try:
        cloud, full = get_kernel(FAMILY), get_kernel(FAMILY, "amd64")
        measured = {
            "keepon": with_keepon(cloud),
            **{f"padding_{padding}": with_padding(cloud, padding) for padding in PADDINGS},
            "ordinary_hwsim": ordinary(cloud, "hwsim"),
            "ordinary_e1000e": ordinary(full, "e1000e"),
        }
    except KeeponError as error:
        print(f"bench kernel: {error}", file=sys.stderr)
        return 3
    core = core_figures()
    slot = per_slot(measured["keepon"])
    xmit_60 = measured["keepon"]["xmit_armed_60"]["all_median"]
    goals = judge({"instructions_per_slot": slot["all"], "xmit_60": xmit_60})
    document = {
        "schema": "keepon.bench/1",
        "name": "kernel",
        "unit": "instructions",
        "instructions_per_slot": slot["all"],
        "xmit_60": xmit_60,
        "per_slot": slot,
        "goals": goals,
        "instructions": measured,
        "core": core,
        "kernel": cloud.version,
        "icount_shift": 0,
        "repeats_exactly": True,
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print_table(measured, core)
    print(
        f"instructions a slot: {slot['all']}, own {slot['own']}; slots an interrupt:"
        f" {slot['slots_per_interrupt']}"
    )
    for name, goal in goals.items():
        print(
            f"{name}: {goal['value']}, goal {goal['goal']}"
            f" {'reached' if goal['reached'] else 'missed'}"
        )
    print(f"kernel {cloud.version}; {RESULT.relative_to(ROOT)}")
    risen = [name for name, goal in goals.items() if goal["value"] > goal["ceiling"]]
    for name in risen:
        print(
            f"bench kernel: {name} is above {goals[name]['ceiling']}, which was reached before",
            file=sys.stderr,
        )
    return 1 if risen else 0


if __name__ == "__main__":
    sys.exit(main())
