# SPDX-License-Identifier: BSD-3-Clause
"""Whose a data race is: reports as a kernel with KCSAN writes them."""

from __future__ import annotations

import pytest

from keepon_guests.console import find_trouble

FENCE = "=" * 66
LOG = """[   27.1] {fence}
[   27.1] BUG: KCSAN: data-race in first / second
[   27.1]
[   27.1] {first} to 0xffffffff81ed1060 of 8 bytes by task 66 on cpu 0:
{first_stack}
[   27.1]  entry_SYSCALL_64_after_hwframe+0x4b/0xb5
[   27.1]
[   27.1] {second} to 0xffffffff81ed1060 of 8 bytes by interrupt on cpu 1:
{second_stack}
[   27.1]  keepon_deep+0x1/0x2 [keepon]
[   27.1]
[   27.1] Reported by Kernel Concurrency Sanitizer on:
[   27.1] CPU: 1 PID: 64 Comm: keepon-talk Tainted: G           O       6.1.192-kcsan #1
[   27.1] {fence}
"""
CORE = ("__dev_queue_xmit+0x503/0x14c0", "dev_queue_xmit+0xb/0x10")
OURS = ("keepon_napi_poll+0x503/0x14c0 [keepon]", "net_rx_action+0xb/0x10")
CALLED = ("kfree_skb_reason+0x503/0x14c0", "keepon_xmit+0xb/0x10 [keepon]")


def log(
    first: str, first_stack: tuple[str, str], second: str, second_stack: tuple[str, str]
) -> str:
    stacks = [
        "\n".join(f"[   27.1]  {frame}" for frame in stack) for stack in (first_stack, second_stack)
    ]
    return LOG.format(
        fence=FENCE, first=first, second=second, first_stack=stacks[0], second_stack=stacks[1]
    )


@pytest.mark.parametrize(
    ("accesses", "ours"),
    [
        (("read", CORE, "write", CORE), False),
        (("read (marked)", CORE, "read-write", CORE), False),
        (("read", CORE, "read-write (marked)", OURS), False),
        (("read", CORE, "write", OURS), True),
        (("read", OURS, "write (marked)", CORE), True),
        (("read (marked)", CORE, "write (reordered)", OURS), True),
        (("read", CALLED, "write", CORE), True),
        (("read (marked)", CALLED, "write", CORE), False),
        (("read", OURS, "write", OURS), True),
    ],
)
def test_a_race_is_ours_if_an_unmarked_access_is(
    accesses: tuple[str, tuple[str, str], str, tuple[str, str]], ours: bool
) -> None:
    assert (find_trouble(log(*accesses)) != []) == ours


def test_a_report_that_is_cut_or_cannot_be_read_counts() -> None:
    text = log("read", CORE, "write", CORE)
    assert find_trouble(text) == []
    title = ["BUG: KCSAN: data-race in first / second"]
    assert find_trouble(text[: text.rindex("[   27.1] ===")]) == title
    assert find_trouble(text.replace("+0x", " at ")) == title


def test_each_report_is_judged_for_itself() -> None:
    other = log("read", OURS, "write", OURS).replace("in first / second", "in a / b")
    assert find_trouble(log("read", CORE, "write", CORE) + other) == [
        "BUG: KCSAN: data-race in a / b"
    ]
