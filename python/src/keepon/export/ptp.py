# SPDX-License-Identifier: BSD-3-Clause
"""The commands that start linuxptp with the configuration of keepon.linux.ptp."""

from __future__ import annotations

from collections.abc import Iterator

from keepon.export import shell
from keepon.linux.ptp import config, config_name

__all__ = ["config", "config_name", "follow", "start"]

STEP_S = 0.001


def start(node: str, stamps: str) -> Iterator[str]:
    """ptp4l with its configuration; `stamps` is -H or -S, or what the shell makes of it."""
    yield from shell.daemon("ptp4l", node, f'{stamps} -m -f "$here/{config_name(node)}"')


def follow(node: str, device: str) -> Iterator[str]:
    """phc2sys: CLOCK_TAI of programs, and of etf, is the time of the device. It steps when PTP has
    stepped that.
    """
    words = f"-s {device} -c CLOCK_REALTIME -O 0 -S {STEP_S:g} -m"
    yield from shell.daemon("phc2sys", node, words)
