# SPDX-License-Identifier: BSD-3-Clause
"""Options of single qdiscs: what may follow `etf`, `cbs`, `guard`, the FIFOs and `fq_codel`.

Each reader takes the words behind the qdisc's name, and raises ConfigError with place, word and
what may stand there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from keepon.model.qdiscs.tree import Cbs, Etf, Fifo, FqCodel, Guard
from keepon.model.qdiscs.words import Word
from keepon.model.wire import FRAME_BYTES_MIN, RATE_BPS_MAX, RATE_BPS_MIN, is_ethernet_rate

S32_MAX = 2**31 - 1
U32_MAX = 2**32 - 1
CLOCKS = ("CLOCK_REALTIME", "CLOCK_TAI", "CLOCK_BOOTTIME", "CLOCK_MONOTONIC")
_SIZES = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "m": 1 << 20, "mb": 1 << 20, "g": 1 << 30}
_TIMES_US = {"": 1, "us": 1, "usec": 1, "usecs": 1, "ms": 1000, "msec": 1000, "msecs": 1000,
             "s": 1_000_000, "sec": 1_000_000, "secs": 1_000_000}  # fmt: skip
_RATES = {
    "": 1, "bit": 1, "kbit": 1000, "mbit": 10**6, "gbit": 10**9,
    "bps": 8, "kbps": 8000, "mbps": 8 * 10**6, "gbps": 8 * 10**9,
}  # fmt: skip
"""As get_rate64() of iproute2 has them: bytes in a second, too, and bits without a unit."""


@dataclass(frozen=True)
class Limits:
    """What the machine cannot do, which tc does not know.

    Attributes:
        horizon_ns: how far ahead of its launch time the NIC takes a frame.
        txtime_delay_least_ns: what a frame needs at least from taprio to its launch in the NIC;
            with less every frame is late.
        tx_queues: of the device.
        fills_cycle: windows of taprio in software must fill its cycle, as something counts on it.
        entry_least_ns: of an entry of taprio, by the rate of the link; 6.12 refuses shorter ones.
    """

    horizon_ns: int | None = None
    txtime_delay_least_ns: int = 0
    tx_queues: int | None = None
    fills_cycle: bool = False
    entry_least_ns: int = 1


class Words:
    """The words that are left of a command, and the limits for what they ask."""

    def __init__(self, words: list[Word], limits: Limits = Limits()) -> None:
        self._words = words
        self._at = 0
        self.limits = limits

    def __bool__(self) -> bool:
        return self._at < len(self._words)

    def peek(self) -> Word | None:
        return self._words[self._at] if self else None

    def take(self, of: Word | None = None, what: str = "a word") -> Word:
        """The next word; `of` is the one that needs it."""
        if not self:
            last = of if of is not None else self._words[-1]
            raise last.refuse(f"nothing follows; it needs {what}")
        self._at += 1
        return self._words[self._at - 1]

    def number(self, of: Word, least: int, most: int, unit: str, base: int = 0) -> int:
        """The next word as a number; `base` 0 takes 0x, too."""
        word = self.take(of, f"a number, {least} to {most}{unit and ' '}{unit}")
        value = whole(word.text, base)
        if value is None or not least <= value <= most:
            raise word.refuse(
                f"{of.text} must be a whole number from {least} to {most}{unit and ' '}{unit}"
            )
        return value

    def flag(self, of: Word) -> bool:
        """0 or 1."""
        return bool(self.number(of, 0, 1, "", 10))


def whole(text: str, base: int) -> int | None:
    """A number as tc reads them, by strtol(3); None: it is none."""
    digits = text.removeprefix("-").removeprefix("+")
    if len(text) > 40 or not re.fullmatch(r"(0[xX])?[0-9a-fA-F]+", digits):
        return None
    if base == 0 and not digits.lower().startswith("0x"):
        base = 8 if len(digits) > 1 and digits.startswith("0") else 10
    try:
        return int(text, base)
    except ValueError:
        return None


def clockid(words: Words, of: Word) -> str:
    """One of CLOCKS; CLOCK_ may be left out, and letters be small, as tc has it."""
    word = words.take(of, f"one of {', '.join(CLOCKS)}")
    name = f"CLOCK_{word.text.upper().removeprefix('CLOCK_')}"
    if name not in CLOCKS:
        raise word.refuse(f"is no clock; take one of {', '.join(CLOCKS)}")
    return name


def unknown(word: Word, kind: str, known: str) -> Exception:
    return word.refuse(f"{kind} has no such option; it has {known}")


def scaled(words: Words, of: Word, units: dict[str, int], most: int, unit: str) -> int:
    """A number with a unit behind it."""
    word = words.take(of, f"a number of {unit}")
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,9})?)([a-z]*)", word.text.lower())
    if match is None or match[2] not in units or float(match[1]) * units[match[2]] > most:
        raise word.refuse(
            f"{of.text} must be 0 to {most} {unit}, with one of the units"
            f" {', '.join(name for name in units if name)}"
        )
    return round(float(match[1]) * units[match[2]])


def etf(name: Word, words: Words) -> Etf:
    """The kernel takes CLOCK_TAI and no negative delta (net/sched/sch_etf.c)."""
    found, delta = Etf(""), name
    while words:
        word = words.take()
        match word.text:
            case "delta":
                delta = words.peek() or word
                found = replace(found, delta_ns=words.number(word, 0, S32_MAX, "ns"))
            case "clockid":
                at = words.peek()
                found = replace(found, clockid=clockid(words, word))
                if found.clockid != "CLOCK_TAI" and at is not None:
                    raise at.refuse("etf takes no clock but CLOCK_TAI; write clockid CLOCK_TAI")
            case "offload":
                found = replace(found, offload=True)
            case "deadline_mode":
                found = replace(found, deadline_mode=True)
            case "skip_sock_check":
                found = replace(found, skip_sock_check=True)
            case _:
                raise unknown(
                    word, "etf", "clockid, delta, offload, deadline_mode and skip_sock_check"
                )
    if not found.clockid:
        raise name.refuse("needs a clock; add clockid CLOCK_TAI")
    if not found.delta_ns and not found.deadline_mode:
        raise delta.refuse(
            "etf hands frames on within delta of their times and drops all others, so that none"
            " leaves without delta; write delta with what the host takes, such as delta 300000"
        )
    most_ns = words.limits.horizon_ns
    if found.offload and most_ns is not None and found.delta_ns > most_ns:
        raise delta.refuse(
            f"delta is above the {most_ns} ns for which the NIC takes frames in advance; write at"
            f" most {most_ns}"
        )
    return replace(found, delta_place=delta.place)


def cbs(name: Word, words: Words) -> Cbs:
    found = Cbs()
    while words:
        word = words.take()
        match word.text:
            case "idleslope":
                found = replace(found, idleslope_kbps=words.number(word, 0, S32_MAX, "kbit/s"))
            case "sendslope":
                found = replace(
                    found, sendslope_kbps=words.number(word, -S32_MAX, S32_MAX, "kbit/s")
                )
            case "hicredit":
                found = replace(found, hicredit_bytes=words.number(word, 0, S32_MAX, "bytes"))
            case "locredit":
                found = replace(
                    found, locredit_bytes=words.number(word, -S32_MAX, S32_MAX, "bytes")
                )
            case "offload":
                found = replace(found, offload=words.flag(word))
            case _:
                raise unknown(word, "cbs", "idleslope, sendslope, hicredit, locredit and offload")
    return found


def guard(name: Word, words: Words) -> Guard:
    found = Guard()
    while words:
        word = words.take()
        match word.text:
            case "mtu":
                found = replace(found, mtu_bytes=_mtu_bytes(words, word))
            case "fudge":
                found = replace(found, fudge_ns=words.number(word, 0, 1_000_000_000, "ns"))
            case "rate":
                found = replace(found, rate_bps=_rate_bps(words, word))
            case "limit":
                found = replace(found, limit_frames=words.number(word, 1, 65_536, "frames"))
            case "tolerance":
                found = replace(found, tolerance_ns=words.number(word, 0, 1_000_000_000, "ns"))
            case "late":
                found = replace(found, late=_late(words, word))
            case _:
                raise unknown(word, "guard", "mtu, fudge, rate, limit, tolerance and late")
    return found


def _mtu_bytes(words: Words, of: Word) -> int:
    value = words.peek() or of
    mtu_bytes = words.number(of, 0, 65_535, "bytes")
    if 0 < mtu_bytes < FRAME_BYTES_MIN:
        raise value.refuse(
            f"mtu must be 0, or a whole number from {FRAME_BYTES_MIN} to 65535 bytes with FCS;"
            " write the longest frame's, or leave mtu out for the device's"
        )
    return mtu_bytes


def _rate_bps(words: Words, of: Word) -> int:
    """As sch_guard.ko takes it: 0, or one at which a byte takes whole picoseconds."""
    value = words.peek() or of
    rate_bps = scaled(words, of, _RATES, RATE_BPS_MAX, "bit/s")
    if rate_bps and (rate_bps < RATE_BPS_MIN or not is_ethernet_rate(rate_bps)):
        raise value.refuse(
            f"rate must be 0, or from {RATE_BPS_MIN} to {RATE_BPS_MAX} bit/s and divide 8e12, as"
            " every Ethernet rate does; write the link's, such as 1gbit, or leave rate out"
        )
    return rate_bps


def _late(words: Words, of: Word) -> Literal["drop", "send"]:
    word = words.take(of, "drop or send")
    if word.text == "drop":
        return "drop"
    if word.text == "send":
        return "send"
    raise word.refuse("late must be drop or send")


def _fifo(kind: Literal["pfifo", "bfifo", "pfifo_fast"]) -> Callable[[Word, Words], Fifo]:
    def read(name: Word, words: Words) -> Fifo:
        found = Fifo(kind)
        while words:
            word = words.take()
            if kind == "pfifo_fast" or word.text != "limit":
                raise unknown(word, kind, "none" if kind == "pfifo_fast" else "limit")
            units = _SIZES if kind == "bfifo" else {"": 1}
            unit = "bytes" if kind == "bfifo" else "frames"
            found = replace(found, limit=scaled(words, word, units, U32_MAX, unit))
        return found

    return read


pfifo, bfifo, pfifo_fast = _fifo("pfifo"), _fifo("bfifo"), _fifo("pfifo_fast")


def fq_codel(name: Word, words: Words) -> FqCodel:
    found = FqCodel()
    while words:
        word = words.take()
        match word.text:
            case "limit":
                found = replace(found, limit_frames=words.number(word, 1, U32_MAX, "frames"))
            case "flows":
                found = replace(found, flows=words.number(word, 1, 65_536, ""))
            case "quantum":
                found = replace(found, quantum_bytes=words.number(word, 1, 1 << 20, "bytes"))
            case "target":
                found = replace(found, target_us=scaled(words, word, _TIMES_US, U32_MAX, "us"))
            case "interval":
                found = replace(found, interval_us=scaled(words, word, _TIMES_US, U32_MAX, "us"))
            case "ecn" | "noecn":
                found = replace(found, ecn=word.text == "ecn")
            case _:
                raise unknown(
                    word, "fq_codel", "limit, flows, quantum, target, interval, ecn and noecn"
                )
    return found
