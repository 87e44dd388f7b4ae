# SPDX-License-Identifier: BSD-3-Clause
"""Lists of classes and slots as people write them, `0-3,10` or `0-240/10`, and the table of class
masks they stand for.

Knows nothing of netlink. What is wrong with a list comes as ValueError, a predicate: "has a range
without an end".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence

CLASS_COUNT = 16

_TERM = re.compile(r"([0-9]+)(-[0-9]*)?(/[0-9]*)?", re.ASCII)
_DIGITS_MAX = 10  # of any number below 2^32


def _number(digits: str) -> int:
    digits = digits.lstrip("0") or "0"
    if len(digits) > _DIGITS_MAX:
        raise ValueError("goes beyond the last number there is")
    return int(digits)


def _term(text: str, end: int) -> range:
    match = _TERM.match(text)
    if match is None:
        raise ValueError("is no list: write numbers and ranges, like 0-3,10 or 0-240/10")
    first, rest, by = match.groups()
    if rest == "-":
        raise ValueError("has a range without an end: write FIRST-LAST")
    if by is not None and not by[1:].lstrip("0"):
        raise ValueError("has a range without a step: write FIRST-LAST/STEP")
    if match.end() != len(text):
        raise ValueError("is no list: separate its terms by commas")
    begin = _number(first)
    last = _number(rest[1:]) if rest else begin
    if last < begin:
        raise ValueError("has a range that ends before it begins: write FIRST-LAST")
    if last >= end:
        raise ValueError("goes beyond the last number there is")
    return range(begin, last + 1, _number(by[1:]) if by else 1)


def parse_list(text: str, end: int) -> set[int]:
    """The numbers of a list, all below `end`."""
    return {number for term in text.split(",") for number in _term(term, end)}


def list_text(numbers: Sequence[int], end: int) -> str:
    """Sorted numbers below `end` in as few terms as a reader would write; "none", "all"."""
    if not numbers:
        return "none"
    if len(numbers) == end:
        return "all"
    terms = []
    at = 0
    while at < len(numbers):
        last = at
        step = numbers[at + 1] - numbers[at] if at + 1 < len(numbers) else 1
        while last + 1 < len(numbers) and numbers[last + 1] - numbers[last] == step:
            last += 1
        if last == at + 1 and step > 1:
            last = at  # two numbers that do not touch are no run: the second may begin a better one
        if last == at:
            terms.append(str(numbers[at]))
        else:
            terms.append(f"{numbers[at]}-{numbers[last]}" + (f"/{step}" if step > 1 else ""))
        at = last + 1
    return ",".join(terms)


class SlotsError(ValueError):
    """The slots of one class are no list; `traffic_class` says whose."""

    def __init__(self, traffic_class: int, wrong: str) -> None:
        super().__init__(wrong)
        self.traffic_class = traffic_class


def class_masks(slots: Mapping[int, str], partition: int) -> list[int]:
    """Class mask per slot of a partition; `rest` is what no list names.

    Classes that are not in `slots` have none, but class 0 has the rest if nobody asks for it: all
    traffic is in it that has no other class, ARP above all.
    """
    masks = [0] * partition
    for traffic_class, text in slots.items():
        if text in ("none", "rest"):
            continue
        try:
            numbers = range(partition) if text == "all" else parse_list(text, partition)
        except ValueError as error:
            raise SlotsError(traffic_class, str(error)) from error
        for number in numbers:
            masks[number] |= 1 << traffic_class
    # What is left is known only now; several classes may share it.
    rest = sum(1 << traffic_class for traffic_class, text in slots.items() if text == "rest")
    if not rest and 0 not in slots:
        rest = 1
    return [mask or rest for mask in masks]


def pack_masks(masks: Sequence[int]) -> bytes:
    """The shortest part of a table that repeats, as the kernel takes it: 16-bit masks in host
    order.
    """
    table = struct.pack(f"={len(masks)}H", *masks)
    for period in range(1, len(masks)):
        if len(masks) % period == 0 and table[2 * period :] == table[: -2 * period]:
            return table[: 2 * period]
    return table


def slots_of_classes(table: bytes, partition: int) -> list[str]:
    """The slots of each class, as text, of a packed table that repeats until the partition ends."""
    masks = struct.unpack(f"={len(table) // 2}H", table)
    texts: dict[tuple[int, ...], str] = {}
    result = []
    for traffic_class in range(CLASS_COUNT):
        bit = 1 << traffic_class
        numbers = tuple(
            base + slot
            for base in range(0, partition, len(masks))
            for slot, mask in enumerate(masks)
            if mask & bit and base + slot < partition
        )
        if numbers not in texts:
            texts[numbers] = list_text(numbers, partition)
        result.append(texts[numbers])
    return result
