# SPDX-License-Identifier: BSD-3-Clause
"""Frame bytes, wire bytes and picoseconds of one link (IEEE 802.3-2022 clause 3 and 4.4.2); exact
integers only.
"""

from __future__ import annotations

PREAMBLE_BYTES = 8
GAP_BYTES = 12
OVERHEAD_BYTES = PREAMBLE_BYTES + GAP_BYTES
FRAME_BYTES_MIN = 64
FRAME_BYTES_MAX = 1522
TAGGED_HEADER_BYTES = 22
"""Of a frame, what is no payload of its MTU: addresses, tag, type and FCS."""
JUMBO_BYTES_MAX = 9018
"""Of ordinary cards and switches: an MTU of 9000 bytes, header and FCS."""
TAPRIO_BYTES_MIN = 60
"""For which an entry of Linux's taprio must last, FCS not counted (ETH_ZLEN in sch_taprio.c)."""
PTP_MESSAGE_BYTES = {"gptp": 94, "ptp": 72}
"""The longest by `sync.mode`: Follow_Up with its TLV, Delay_Resp (IEEE 802.1AS-2020 11.4.4, 1588).
"""
RATE_BPS_MIN = 10_000_000
RATE_BPS_MAX = 100_000_000_000
PS_PER_NS = 1000
_BIT_PS_TIMES_BPS = 8 * 10**12


def is_ethernet_rate(rate_bps: int) -> bool:
    """Whether a byte takes a whole number of picoseconds at this rate.

    >>> is_ethernet_rate(2_500_000_000), is_ethernet_rate(30_000_000)
    (True, False)
    """
    return rate_bps > 0 and _BIT_PS_TIMES_BPS % rate_bps == 0


def byte_time_ps(rate_bps: int) -> int:
    """Time of one byte in picoseconds; every Ethernet rate gives a whole number.

    Raises:
        ValueError: the rate does not divide 8e12 (2.5 Gb/s does: 3200 ps).

    >>> byte_time_ps(1_000_000_000), byte_time_ps(2_500_000_000)
    (8000, 3200)
    """
    if not is_ethernet_rate(rate_bps):
        raise ValueError(
            f"rate_bps={rate_bps} does not divide 8e12; use an Ethernet rate such as 1000000000"
        )
    return _BIT_PS_TIMES_BPS // rate_bps


def wire_time_ps(frame_bytes: int, rate_bps: int) -> int:
    """Time a frame of `frame_bytes` (FCS included) takes on the wire, preamble and gap included.

    >>> wire_time_ps(1230, 1_000_000_000)
    10000000
    """
    return (frame_bytes + OVERHEAD_BYTES) * byte_time_ps(rate_bps)


def preamble_time_ps(rate_bps: int) -> int:
    """From the start of a slot to the reference plane (first bit after the SFD)."""
    return PREAMBLE_BYTES * byte_time_ps(rate_bps)


def ceil_ns(time_ps: int) -> int:
    """Picoseconds rounded up to nanoseconds.

    >>> ceil_ns(1), ceil_ns(-1), ceil_ns(3000)
    (1, 0, 3)
    """
    return -(-time_ps // PS_PER_NS)
