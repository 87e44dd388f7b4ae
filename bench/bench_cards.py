# SPDX-License-Identifier: BSD-3-Clause
"""Cost of cards whose ring is lent, on models with a paced wire: prints a table, writes
out/bench/cards.json.

Instructions as bench_kernel.py counts them (each is counted, the guest's time is their number), of
keepon.ko and the card's driver together, by Debian's 6.1 kernels; accesses to the card's registers
as the emulator traces them. All is run twice, and instructions must repeat exactly.

  ordinary    ndo_start_xmit of the driver alone, its ring not lent
  xmit        of the keepon link, from call to return: `armed` is in the ring and real then, so its
              commit store is the last thing it does; `held` goes to the heap
  idle poll   one hard timer interrupt; per slot: what all interrupts take for each slot time
  reads, writes of registers: of one poll, by two runs without a frame of which one is a second
              longer; of one frame, by a third one with a thousand frames in that second
  lines of code, comments and blank ones not counted: of the driver, and what drivers have in common

Exit code 0 if everything was measured and repeated, 3 if not.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench_kernel import (
    KEEPON,
    LONG,
    METER,
    NATIVE,
    ROOT,
    SHORT,
    BenchError,
    measure,
    per_slot,
    steps_script,
)
from keepon.errors import KeeponError
from keepon.targets.vm import programs
from keepon_guests import Kernel, build_modules, get_kernel, run_guest

RESULT = ROOT / "out" / "bench" / "cards.json"
BUILD = ROOT / "out" / "build" / "bench-cards"
NICS = ROOT / "kernel" / "nics"
PCI = "0000:00:04.0"
FIRMWARE = [part for folder in ("/usr/share/seabios", "/usr/share/qemu") for part in ("-L", folder)]
ORDINARY = {f"ordinary_{size}": f"xmit eth0 {size} 500 0" for size in (SHORT, LONG)}
LENT = {
    "xmit_armed_60": f"xmit rt0 {SHORT} 500 1000000",
    "xmit_armed_1196": f"xmit rt0 {LONG} 500 1000000",
    "xmit_held_60": f"xmit rt0 {SHORT} 500 10000000",
    "idle_poll": "gaps 1000",
}
STOPPED = {"stopped": "gaps 100"}
FRAMES = 1000
BIND = """
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe {driver} prefetch=32
echo {driver} > {folder}/driver_override
[ ! -e {folder}/driver ] || basename {folder} > {folder}/driver/unbind
basename {folder} > {folder}/subsystem/drivers_probe
ip link set eth0 up
sleep 4
modprobe keepon
"""
LINK = "ip link add link eth0 name rt0 type keepon slot_bytes 1230\nip link set rt0 up\nsleep 0.5\n"
TALK = f"keepon-talk rt0 --period 1ms --advance 20ms --no-txtime --count {FRAMES} --size 100"
COUNTERS = "ethtool -S rt0 > /out/counters\n"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
ACCESS = re.compile(r"memory_region_ops_(read|write) .* name '([^']*)'")


@dataclass(frozen=True)
class Card:
    """A model, the emulator that has it, and the driver of ours that lends its ring."""

    emulator: str
    flavour: str
    driver: str
    folder: str
    source: str
    arguments: tuple[str, ...]
    registers: str

    @property
    def kernel(self) -> Kernel:
        return get_kernel("6.1", self.flavour)

    @property
    def modules(self) -> list[Path]:
        return [NATIVE, NICS / self.source, KEEPON, METER]

    @property
    def up(self) -> str:
        return BIND.format(driver=self.driver, folder=self.folder)

    @property
    def qemu(self) -> Path:
        path = Path(os.environ.get(self.emulator, ""))
        if not path.is_file():
            raise BenchError(
                f"{self.emulator} names no QEMU with a paced wire: run `make bench-cards`"
            )
        return path


def on_pci(model: str) -> Card:
    device = f"{model},netdev=n1,romfile=,bus=pcie.0,addr=0x4,mac=52:54:00:00:00:01,paced=on"
    return Card(
        "KEEPON_PACED_QEMU", "amd64", "keepon_intel", f"/sys/bus/pci/devices/{PCI}", "intel",
        (*FIRMWARE, "-netdev", "hubport,id=n1,hubid=0", "-device", device), f"{model}-mmio",
    )  # fmt: skip


CARDS = {
    "82574": on_pci("e1000e"),
    "82576": on_pci("igb"),
    "GENET": Card(
        "KEEPON_PACED_QEMU_PI", "arm64", "keepon_genet",
        "/sys/bus/platform/devices/fd580000.ethernet", "genet",
        ("-netdev", "hubport,id=n1,hubid=0", "-net",
         "nic,netdev=n1,model=genet,macaddr=52:54:00:00:00:01"), "bcm2711-genet",
    ),
}  # fmt: skip


def instructions(card: Card) -> dict[str, dict[str, int]]:
    """All that the meter counts."""
    script = "".join([
        card.up, "modprobe keepon_meter\n", steps_script(ORDINARY), LINK, steps_script(LENT),
        COUNTERS, "ip link set rt0 down\n", steps_script(STOPPED),
    ])  # fmt: skip
    steps = {**ORDINARY, **LENT, **STOPPED}
    rows, counters = measure(
        card.kernel, card.modules, script, steps, list(card.arguments), qemu=card.qemu
    )
    wanted = {"verdict_on_time": 1500, "prebuffered": 500, "underruns": 0, "slips": 0}
    if {name: counters.get(name) for name in wanted} != wanted:
        raise BenchError(f"frames did not go as meant: {counters}, not {wanted}")
    return rows


def traced(card: Card, what: str) -> Counter[str]:
    """Accesses to the card's registers of a whole run, and the counters of its link."""
    with tempfile.TemporaryDirectory(prefix="keepon-bench-") as name:
        log = Path(name) / "trace"
        trace = [part for way in ("read", "write") for part in
                 ("-trace", f"enable=memory_region_ops_{way}")]  # fmt: skip
        kernel = card.kernel
        result = run_guest(
            kernel, f"{card.up}{LINK}{what}\n{COUNTERS}ip link set rt0 down\n",
            programs.guest_files(kernel.machine),
            modules=build_modules(kernel, card.modules, build_root=BUILD),
            tools=programs.tools(kernel.machine), icount_shift=0, timeout_s=900, qemu=card.qemu,
            qemu_args=[*card.arguments, *trace, "-D", str(log)],
        ).check()  # fmt: skip
        found = Counter(
            way for way, place in ACCESS.findall(log.read_text(errors="replace"))
            if place == card.registers
        )  # fmt: skip
    if not found["read"]:
        raise BenchError(f"the trace has no access to {card.registers}")
    rows = (row.split(":") for row in result.files["counters"].decode().splitlines()[1:])
    found.update({key.strip(): int(value) for key, value in rows})
    return found


def accesses(card: Card) -> dict[str, float]:
    """Of registers, by poll and by frame."""
    short, long = traced(card, "sleep 0.2"), traced(card, "sleep 1.2")
    frames = traced(card, f"sleep 0.2\n{TALK}")
    polls = long["polls"] - short["polls"]
    each = {way: (long[way] - short[way]) / polls for way in ("read", "write")}
    more = frames["polls"] - short["polls"]
    sent = frames["submitted"] - short["submitted"]
    if sent != FRAMES:
        raise BenchError(f"{sent} frames were sent, not {FRAMES}")
    document = {f"{way}s_a_poll": round(value, 3) for way, value in each.items()}
    for way, value in each.items():
        document[f"{way}s_a_frame"] = round((frames[way] - short[way] - value * more) / sent, 3)
    return document


def lines_of_code(source: str) -> int:
    """Of a folder below kernel/nics."""
    texts = [path.read_text(encoding="utf-8") for path in (NICS / source).glob("*.[ch]")]
    return sum(bool(line.strip()) for text in texts for line in COMMENT.sub("", text).splitlines())


def print_table(found: Mapping[str, Mapping[str, float]]) -> None:
    names = list(next(iter(found.values())))
    print(f"{'':28}" + "".join(f"{card:>12}" for card in found))
    for name in names:
        print(f"{name:28}" + "".join(f"{row[name]:>12}" for row in found.values()))


def main() -> int:
    chosen = sys.argv[1:] or list(CARDS)
    unknown = [name for name in chosen if name not in CARDS]
    if unknown:
        print(f"bench cards: {unknown[0]}: is none of {', '.join(CARDS)}", file=sys.stderr)
        return 2
    details: dict[str, dict[str, dict[str, int]]] = {}
    found: dict[str, dict[str, float]] = {}
    try:
        for name in chosen:
            card = CARDS[name]
            details[name] = instructions(card)
            medians = {step: row["all_median"] for step, row in details[name].items()}
            slot = per_slot(details[name])["all"]
            lines = {"lines": lines_of_code(card.source), "lines_common": lines_of_code("common")}
            found[name] = {**medians, "per_slot": slot, **accesses(card), **lines}
    except KeeponError as error:
        print(f"bench cards: {error}", file=sys.stderr)
        return 3
    document = {
        "schema": "keepon.bench/1", "name": "cards", "unit": "instructions, accesses",
        "cards": found, "instructions": details, "icount_shift": 0, "repeats_exactly": True,
        "kernels": {name: CARDS[name].kernel.version for name in chosen},
    }  # fmt: skip
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print_table(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
