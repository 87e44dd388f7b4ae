/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * rtnetlink attributes of link kind "keepon": `ip link add link nic0 name rt0 type keepon ...`.
 * They stand in IFLA_INFO_DATA. All attributes are optional when a link is added and are reported
 * in full when it is read; a value that was set reads back equal. Numbers are host order. Times and
 * lengths have the units of struct kpn_config (core/include/keepon/config.h).
 */
#ifndef _UAPI_KEEPON_LINK_H
#define _UAPI_KEEPON_LINK_H

#include <linux/types.h>

#define KEEPON_LINK_KIND "keepon"
#define KEEPON_CLASS_COUNT 16

/*
 * The class table gives each slot of the partition a __u16 mask of the classes that may use it. It
 * can be larger than a message, so it is set and read in parts (keepon_table.h); the description of
 * a link has a summary.
 *
 * IFLA_KEEPON_ALLOWED: write only: a short table in one piece, at most 16384 masks
 * IFLA_KEEPON_TABLE: number of a table handed over by KEEPON_CMD_TABLE_PUT on a socket that is
 *	still open; reads back as that of the link's table, 0: all slots are open to all classes
 * The table's length is the partition's unless IFLA_KEEPON_PARTITION_SLOTS repeats the table: then
 * the length must divide that.
 * IFLA_KEEPON_CLASS_SLOTS: read only: KEEPON_CLASS_COUNT times __u32, how many slots of the
 *	partition each class may use
 * IFLA_KEEPON_CLASSES: KEEPON_CLASS_COUNT pairs of __u8 {late policy, rounding}
 *	(enum kpn_late_policy, enum kpn_rounding); 0xff: the class keeps its value
 * IFLA_KEEPON_RATE_BPS: link rate; read only, rate of the lower device when the link came up
 * IFLA_KEEPON_FORCE: with backend generic: 1: run it on a device that is not paced
 *
 * IFLA_KEEPON_LIMIT_*: limits of one call on the pacer, as in struct kpn_limits
 * (core/include/keepon/pacer.h), and of one beat of the receive ring, as in struct kpn_rx_limits
 * (rx.h); read only, and present only while the wire runs
 */
enum {
	IFLA_KEEPON_UNSPEC,
	IFLA_KEEPON_MODE,             /* __u8 enum kpn_mode */
	IFLA_KEEPON_SLOT_BYTES,       /* __u32 */
	IFLA_KEEPON_RING_SLOTS,       /* __u32 */
	IFLA_KEEPON_BATCH_SLOTS,      /* __u32 */
	IFLA_KEEPON_DEPTH_SLOTS,      /* __u32 */
	IFLA_KEEPON_PARTITION_SLOTS,  /* __u32 */
	IFLA_KEEPON_ALLOWED,          /* binary, write only */
	IFLA_KEEPON_CLASSES,          /* binary */
	IFLA_KEEPON_PREBUFFER,        /* __u32 frames */
	IFLA_KEEPON_CLOCK,            /* __u8 enum keepon_clock */
	IFLA_KEEPON_PLACEHOLDER,      /* __u8 enum kpn_placeholder */
	IFLA_KEEPON_TRIM,             /* __u8 enum kpn_trim_policy */
	IFLA_KEEPON_TRIM_DOWN_BYTES,  /* __u32 */
	IFLA_KEEPON_TRIM_UP_BYTES,    /* __u32 */
	IFLA_KEEPON_TOLERANCE_NS,     /* __u32 */
	IFLA_KEEPON_DRIFT_PPB,        /* __u32 */
	IFLA_KEEPON_WANDER_PPB,       /* __u32 per second */
	IFLA_KEEPON_POLL_OVERHEAD_NS, /* __u32 */
	IFLA_KEEPON_DITHER,           /* __u8 0, 1 */
	IFLA_KEEPON_POLL,             /* __u8 enum keepon_poll */
	IFLA_KEEPON_POLL_CPU,         /* __u32, of a thread */
	IFLA_KEEPON_POLL_FIFO,        /* __u8 real-time priority of a thread, 0: SCHED_OTHER */
	IFLA_KEEPON_TXTIME,           /* __u8 enum keepon_txtime */
	IFLA_KEEPON_RATE_BPS,         /* __u64 */
	IFLA_KEEPON_BACKEND,          /* __u8 enum keepon_backend */
	IFLA_KEEPON_PAD,
	IFLA_KEEPON_MERGE,           /* __u8 enum kpn_merge; with clock dual, as the next two */
	IFLA_KEEPON_TAU_NS,          /* __u32, 0: greatest lag of a staircase */
	IFLA_KEEPON_RX_POLL_CPU,     /* __u32, of a thread */
	IFLA_KEEPON_PADDING,         /* __u8 enum keepon_padding; reads back as the choice made */
	IFLA_KEEPON_TABLE,           /* __u64 */
	IFLA_KEEPON_CLASS_SLOTS,     /* binary, read only */
	IFLA_KEEPON_HORIZON_NS,      /* __u64: how far ahead a txtime may be, 0: any */
	IFLA_KEEPON_LIMIT_FRAMES,    /* __u32 */
	IFLA_KEEPON_LIMIT_TRIMS,     /* __u32 */
	IFLA_KEEPON_LIMIT_REARMS,    /* __u32 */
	IFLA_KEEPON_LIMIT_WORDS,     /* __u32 */
	IFLA_KEEPON_LIMIT_STALL_NS,  /* __u64 */
	IFLA_KEEPON_LIMIT_RX_FRAMES, /* __u32, 0 without clock dual */
	IFLA_KEEPON_FORCE,           /* __u8 0, 1 */
	IFLA_KEEPON_FRAME_BYTES,     /* __u32: longest frame, in several slots; 0: one slot */
	IFLA_KEEPON_RECEIVE,         /* __u8 enum keepon_receive, for a new link only */
	IFLA_KEEPON_PRIORITIES,      /* __u8 0, 1: priorities of the card's frames choose a class */
	__IFLA_KEEPON_MAX,
};

#define IFLA_KEEPON_MAX (__IFLA_KEEPON_MAX - 1)

/** enum keepon_clock - how the PHC is read; the first two are those of enum kpn_clock_read */
enum keepon_clock {
	KEEPON_CLOCK_INTERPOLATED,
	KEEPON_CLOCK_COUNTER,
	KEEPON_CLOCK_DUAL, /* the receive ring is counted, too */
};

/**
 * enum keepon_padding - when the rest of a slot is zeroed; the first two are those of enum
 * kpn_padding
 */
enum keepon_padding {
	KEEPON_PADDING_DEFERRED,
	KEEPON_PADDING_ON_DEMAND,
	/* on demand with clock dual if the backend has spare buffers, deferred otherwise */
	KEEPON_PADDING_AUTO,
};

/** enum keepon_poll - context of the polls */
enum keepon_poll {
	KEEPON_POLL_HRTIMER,
	KEEPON_POLL_THREAD,
};

/**
 * enum keepon_txtime - relation of a socket's txtime (CLOCK_TAI) to the PHC (C30)
 * @KEEPON_TXTIME_PHC: the number is PHC time: phc2sys or the like keeps CLOCK_TAI equal to the PHC
 * @KEEPON_TXTIME_TAI: the driver reads both clocks and shifts the number by their difference
 */
enum keepon_txtime {
	KEEPON_TXTIME_PHC,
	KEEPON_TXTIME_TAI,
};

/**
 * enum keepon_backend - how frames get to the wire
 * @KEEPON_BACKEND_NATIVE: by a driver that lends its descriptor ring
 * @KEEPON_BACKEND_GENERIC: through the transmit function of any driver
 */
enum keepon_backend {
	KEEPON_BACKEND_NATIVE,
	KEEPON_BACKEND_GENERIC,
};

/**
 * enum keepon_receive - device that gets the frames received by the card
 * @KEEPON_RECEIVE_CARD: the card; the link only sends
 * @KEEPON_RECEIVE_ALL: the link, while it is up
 */
enum keepon_receive {
	KEEPON_RECEIVE_CARD,
	KEEPON_RECEIVE_ALL,
};

#endif
