# SPDX-License-Identifier: BSD-3-Clause
"""Rows of core/include/keepon/config_fields.h and kernel/include/keepon_options.h: `make fields`
writes them.

OPTIONS: field, name, attribute, bytes, unit, min, max, default, sentence. LIMITS: name, attribute,
bytes.
"""

# fmt: off
OPTIONS = (
    ("mode", "mode", 1, 1, "phase-locked|paper", 0, 1, 0, "slots on the grid of the PHC, or free-running as published"),
    ("slot_bytes", "slot_bytes", 2, 4, "BYTES", 64, 1522, 0, "frame bytes of a slot"),
    ("ring_slots", "ring", 3, 4, "SLOTS", 8, 4096, 256, "descriptors of the ring"),
    ("batch_slots", "batch", 4, 4, "SLOTS", 1, 4096, 8, "slots per doorbell, at most the depth"),
    ("depth_slots", "depth", 5, 4, "SLOTS", 1, 4096, 64, "slots posted ahead of the wire, from the batch to what the ring holds"),
    ("partition_slots", "partition", 6, 4, "SLOTS", 1, 65536, 1, "slots after which the class table repeats, whatever the ring"),
    ("prebuffer_frames", "prebuffer", 9, 4, "FRAMES", 0, 65536, 256, "frames each class may have waiting until the ring reaches their slots; 0: none"),
    ("placeholder", "placeholder", 11, 1, "bad-fcs|mac-control|reserved-address", 0, 2, 0, "what makes the first hop drop a placeholder"),
    ("padding", "padding", 30, 1, "deferred|on-demand|auto", 0, 1, 0, "when the rest of a slot is zeroed: after its frame, or before the next one"),
    ("trim", "trim", 12, 1, "any|reserved", 0, 1, 0, "slots whose length follows the clock: any, or those of no class"),
    ("trim_down_bytes", "trim_down", 13, 4, "BYTES", 1, 1522, 8, "by how much a slot may be made shorter"),
    ("trim_up_bytes", "trim_up", 14, 4, "BYTES", 1, 1522, 8, "by how much a slot may be made longer"),
    ("frame_bytes_max", "frame_bytes", 41, 4, "BYTES", 0, 1522, 0, "longest frame: takes several slots in a row where it does not fit one"),
    ("tolerance_ns", "tolerance_ns", 15, 4, "NS", 0, 4294967295, 0, "how much before its txtime `round up` may send a frame"),
    ("horizon_ns", "horizon_ns", 33, 8, "NS", 0, 1000000000000000000, 10000000000, "how far ahead a txtime may be, or 0 for any"),
    ("drift_ppb_max", "drift_ppb", 16, 4, "PPB", 1, 1000000, 200000, "bound on the rate of the CPU's clock against the card's"),
    ("wander_ppb_per_s_max", "wander_ppb", 17, 4, "PPB_PER_S", 0, 1000000, 1000, "bound on the change of that rate in a second"),
    ("poll_overhead_ns", "poll_overhead_ns", 18, 4, "NS", 0, 4294967295, 0, "what is kept free of every poll interval: the longest time of a poll"),
    ("dither", "dither", 19, 1, "off|on", 0, 1, 1, "polls at random within a slot, so that readings of the index narrow the strip"),
    ("clock", "clock", 10, 1, "interpolated|counter|dual", 0, 2, 0, "how the PHC is read; dual: by the receive ring, too"),
    ("merge", "merge", 27, 1, "strip|published", 0, 1, 0, "how clock dual puts both rings together"),
    ("tau_ns", "tau_ns", 28, 4, "NS", 0, 1000000000, 0, "what a clock of merge published lags at most, or 0 for a batch and a slot"),
    ("poll", "poll", 20, 1, "hrtimer|thread", 0, 1, 0, "what polls the ring"),
    ("poll_cpu", "poll_cpu", 21, 4, "CPU", 0, 4294967295, 0, "the CPU of the polling thread"),
    ("rx_poll_cpu", "rx_poll_cpu", 29, 4, "CPU", 0, 4294967295, 0, "the CPU of the second thread, with clock dual; poll_cpu by default"),
    ("poll_fifo", "poll_fifo", 22, 1, "PRIORITY", 0, 99, 0, "a real-time priority of the thread, or 0 for the ordinary scheduler"),
    ("txtime", "txtime", 23, 1, "phc|tai", 0, 1, 0, "what the CLOCK_TAI of a txtime is to the PHC"),
    ("receive", "receive", 42, 1, "card|all", 0, 1, 0, "which device has the frames that the card receives"),
    ("priorities", "priorities", 43, 1, "off|on", 0, 1, 0, "whether priorities of frames sent on the card choose their class"),
    ("backend", "backend", 25, 1, "native|generic", 0, 1, 0, "through a ring that a driver lends, or any transmit function"),
    ("force", "force", 40, 1, "off|on", 0, 1, 0, "backend generic on a device that does not pace, too"),
)
LIMITS = (
    ("limit_frames", 34, 4),
    ("limit_trims", 35, 4),
    ("limit_rearms", 36, 4),
    ("limit_words", 37, 4),
    ("limit_stall_ns", 38, 8),
    ("limit_rx_frames", 39, 4),
)
