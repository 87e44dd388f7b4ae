# SPDX-License-Identifier: BSD-3-Clause
"""Sends a UDP frame each millisecond, at its time: send.py IFACE ADDRESS COUNT (CAP_NET_ADMIN)."""

import socket
import struct
import sys
import time

SO_TXTIME, REPORT_ERRORS, MISSED = 61, 2, 2  # asm-generic/socket.h, net_tstamp.h, errqueue.h
PRIORITY, PORT, PERIOD_NS = 7, 4000, 1_000_000
ADVANCE_NS = 2_000_000  # lead_slots of "ethtool -S rt0" in time, and what Python may be late


def report_missed(sender: socket.socket) -> int:
    """Print what the error queue has; return how many frames that were."""
    count = 0
    while True:
        try:
            found = sender.recvmsg(0, 256, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)[1]
        except BlockingIOError:
            return count
        _, _, _, code, _, low, high = struct.unpack_from("=IBBBBII", found[0][2])
        print("missed" if code == MISSED else "refused", "txtime", high << 32 | low)
        count += 1


iface, address, frames = sys.argv[1], sys.argv[2], int(sys.argv[3])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, iface.encode())
sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, PRIORITY)
sender.setsockopt(socket.SOL_SOCKET, SO_TXTIME, struct.pack("=iI", time.CLOCK_TAI, REPORT_ERRORS))
first_ns = (time.clock_gettime_ns(time.CLOCK_TAI) // PERIOD_NS + 10) * PERIOD_NS
missed = 0
for k in range(frames):
    txtime_ns = first_ns + k * PERIOD_NS
    time.sleep(max(0, txtime_ns - ADVANCE_NS - time.clock_gettime_ns(time.CLOCK_TAI)) / 1e9)
    control = (socket.SOL_SOCKET, SO_TXTIME, struct.pack("=Q", txtime_ns))
    sender.sendmsg([struct.pack("!I", k)], [control], 0, (address, PORT))
    missed += report_missed(sender)
time.sleep(2 * ADVANCE_NS / 1e9)
print(frames, "sent,", missed + report_missed(sender), "missed")
