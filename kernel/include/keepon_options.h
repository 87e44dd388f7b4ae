/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options of a link that belong to the driver, a row for each, like those of the pacer in
 * keepon/config_fields.h: X(member, type, option, ATTRIBUTE, unit, min, max, default, sentence)
 * @member: of struct keepon_plan
 */
#ifndef KEEPON_OPTIONS_H
#define KEEPON_OPTIONS_H

/* clang-format off */
#define KEEPON_OPTIONS(X) \
	X(clock, u8, clock, CLOCK, "interpolated|counter|dual", 0, KEEPON_CLOCK_DUAL, \
	  KEEPON_CLOCK_INTERPOLATED, "how the PHC is read; dual: by the receive ring, too") \
	X(merge, u8, merge, MERGE, "strip|published", 0, KPN_MERGE_PUBLISHED, \
	  KPN_MERGE_STRIP, "how clock dual puts both rings together") \
	X(tau_ns, u32, tau_ns, TAU_NS, "NS", 0, 1000000000, \
	  0, "what a clock of merge published lags at most, or 0 for a batch and a slot") \
	X(poll, u8, poll, POLL, "hrtimer|thread", 0, KEEPON_POLL_THREAD, \
	  KEEPON_POLL_HRTIMER, "what polls the ring") \
	X(poll_cpu, u32, poll_cpu, POLL_CPU, "CPU", 0, 0xffffffff, \
	  0, "the CPU of the polling thread") \
	X(rx_poll_cpu, u32, rx_poll_cpu, RX_POLL_CPU, "CPU", 0, 0xffffffff, \
	  0, "the CPU of the second thread, with clock dual; poll_cpu by default") \
	X(poll_fifo, u8, poll_fifo, POLL_FIFO, "PRIORITY", 0, 99, \
	  0, "a real-time priority of the thread, or 0 for the ordinary scheduler") \
	X(txtime, u8, txtime, TXTIME, "phc|tai", 0, KEEPON_TXTIME_TAI, \
	  KEEPON_TXTIME_PHC, "what the CLOCK_TAI of a txtime is to the PHC") \
	X(receive, u8, receive, RECEIVE, "card|all", 0, KEEPON_RECEIVE_ALL, \
	  KEEPON_RECEIVE_CARD, "which device has the frames that the card receives") \
	X(priorities, u8, priorities, PRIORITIES, "off|on", 0, 1, \
	  0, "whether priorities of frames sent on the card choose their class") \
	X(backend, u8, backend, BACKEND, "native|generic", 0, KEEPON_BACKEND_GENERIC, \
	  KEEPON_BACKEND_NATIVE, \
	  "through a ring that a driver lends, or any transmit function") \
	X(force, u8, force, FORCE, "off|on", 0, 1, \
	  0, "backend generic on a device that does not pace, too")

/* Limits of one call, reported while the wire runs: X(member, type, name, ATTRIBUTE) */
#define KEEPON_LIMITS(X) \
	X(limits.frames, u32, limit_frames, LIMIT_FRAMES) \
	X(limits.trims, u32, limit_trims, LIMIT_TRIMS) \
	X(limits.rearms, u32, limit_rearms, LIMIT_REARMS) \
	X(limits.words, u32, limit_words, LIMIT_WORDS) \
	X(limits.stall_ns, u64, limit_stall_ns, LIMIT_STALL_NS) \
	X(rx_limits.frames, u32, limit_rx_frames, LIMIT_RX_FRAMES)
/* clang-format on */

#endif
