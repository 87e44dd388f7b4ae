/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * keepon_generic.ko: a ring for keepon.ko over the transmit function of any Ethernet driver
 * (docs/nics.md). The ring is in memory. A pump hands its slots to the driver, so many ahead of
 * those that came back as keeps the wire busy, and the frames that came back are the index. What
 * the wire does is measured before it is claimed.
 *
 *	main	which devices, and the life of a claimed ring
 *	limits	what is claimed, from what was measured
 *	measure	does the wire take its time, and how late do completions say so
 *	pump	from the ring to the driver
 *	pace	when slots came back, and have left
 *	frames	what the driver is given, and its way back
 *	ring	struct kpn_nic_ops on the ring
 *
 * Locks: RTNL around claims and measurements; pump.lock, raw and with interrupts off, around slots
 * and counts; the pump itself is a tasklet, of which only one runs at a time.
 */
#ifndef KEEPON_GENERIC_H
#define KEEPON_GENERIC_H

#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "keepon/wire.h"
#include "keepon_native.h"

#define GENERIC_NAME "keepon_generic"

enum {
	GENERIC_RING_MIN = 16,
	GENERIC_RING_MAX = 4096,
	GENERIC_PARTS = 16,
	/* What a sentence about a device needs. */
	GENERIC_SENTENCE_BYTES = 160,
};

/**
 * struct generic_meter - when the frames of one stream came back; @lock: all of it
 * @frames: in all; @count: so far
 * @slot_ps: what one takes on the wire
 * @begun_ns: when the first was handed over: it ends a slot later at the earliest, and so on
 * @last_ns: when the last one came back
 * @early_ns: least after that earliest end, of each part of the stream; may be negative
 * @late_ns: most after it, of the second part: in a longer time the pace would be in it, too
 */
struct generic_meter {
	raw_spinlock_t lock;
	u32 frames;
	u32 count;
	u64 slot_ps;
	u64 begun_ns;
	u64 last_ns;
	s64 early_ns[GENERIC_PARTS];
	s64 late_ns;
};

struct generic_pump;

/**
 * struct generic_flight - the frames of one run that the driver has; lives until the last is back
 * @refs: one of the pump, one of each frame
 * @done: frames that came back
 * @done_ns: when the last of them did
 * @pump: woken by completions; NULL when the run is over. RCU
 * @meter: NULL but while measuring
 */
struct generic_flight {
	refcount_t refs;
	atomic_t done;
	u64 done_ns;
	struct generic_pump __rcu *pump;
	struct generic_meter *meter;
};

/**
 * struct generic_slot - a descriptor: length on the wire, and what is real of it; where a frame has
 * several, descriptor @fragment of @fragments
 */
struct generic_slot {
	u16 frame_bytes;
	u16 data_bytes;
	bool real;
	u8 fragments;
	u8 fragment;
};

/** struct generic_frame - a slot that was handed out, on its way to the driver; @valid: there is */
struct generic_frame {
	struct generic_slot slot;
	bool valid;
	u8 data[KPN_FRAME_BYTES_MAX];
};

/**
 * struct generic_pump - one claimed ring
 * @dev, @txq: the device, and the one of its queues that is used
 * @placeholder: enum kpn_placeholder
 * @window: so many slots the driver has at most
 * @lag_ns: how long after they have left frames come back at most
 * @ring_slots, @slot_bytes, @buffer_bytes: as claimed
 * @slots, @buffers: the ring; lock
 * @handed, @tail: slots handed out, and where it ends; sequence numbers; lock
 * @ends, @ends_mask: @handed behind each packet that the driver has, one of several slots, too, by
 *	@packets, which were handed out; NULL while measuring; lock
 * @paced_here: the device does not pace; slots take their time in the pump (pace.c)
 * @left, @left_ps: slots whose time is over, and when that was, by the CPU; if @paced_here; lock
 * @halted: none is handed out any more; lock
 * @ran_out: there was nothing to hand out: if the wire is idle now, that is not the pump's fault
 * @foreign_seq, @foreign_ns: wire time of others' frames, which have left when this slot is back;
 *	lock
 * @next, @skb: of the slot handed out last, if the driver would not take it; the tasklet's
 * @blank: of which every placeholder is a clone
 * @tap: sees the frames of others
 */
struct generic_pump {
	struct net_device *dev;
	struct netdev_queue *txq;
	u8 placeholder;
	u32 window;
	u32 lag_ns;
	u32 ring_slots;
	u32 slot_bytes;
	u32 buffer_bytes;
	u64 byte_ps;

	raw_spinlock_t lock;
	struct generic_slot *slots;
	u8 *buffers;
	u64 handed;
	u64 tail;
	u32 *ends;
	u32 ends_mask;
	u32 packets;
	bool paced_here;
	u64 left;
	u64 left_ps;
	bool halted;
	bool ran_out;
	u64 foreign_seq;
	u64 foreign_ns;

	struct generic_flight *flight;
	struct tasklet_struct tasklet;
	struct irq_work interrupt;
	struct generic_frame next;
	struct sk_buff *skb;
	struct sk_buff *blank;
	struct packet_type tap;
};

/**
 * struct generic_measured - what one measurement has found
 * @slot_bytes, @rate_bps: of what was measured
 * @frames: of these, so many
 * @taken_ns, @line_ns: what they took, and what a wire of that rate takes
 * @unsure_ns: how far from @taken_ns the truth may be
 * @alone_ns: from handing over one alone until it was back
 * @late_ns: how long after they could have left at the earliest others came back, at most
 * @early_ns: how long before; a driver may let go of frames when the controller has fetched them
 * @back: frames that came back at all
 */
struct generic_measured {
	u32 slot_bytes;
	u64 rate_bps;
	u32 frames;
	u64 taken_ns;
	u64 line_ns;
	u64 unsure_ns;
	u64 alone_ns;
	u64 late_ns;
	u64 early_ns;
	u32 back;
};

/**
 * generic_pump_kick() - hand out what can be; any context
 *
 * From a process the tasklet would be left to ksoftirqd, and with it, until that thread has had its
 * turn, the driver's interrupts that tell of frames. An interrupt of our own it is instead.
 */
static inline void generic_pump_kick(struct generic_pump *pump)
{
	if (in_interrupt())
		tasklet_schedule(&pump->tasklet);
	else
		irq_work_queue(&pump->interrupt);
}

/* ---- limits.c ---- */

/** generic_rate_bps() - of the link now, 0 if nobody knows; RTNL */
u64 generic_rate_bps(struct net_device *dev);
/** generic_placeholder() - what is sent if nothing else is asked for: a bad FCS if it can leave */
u8 generic_placeholder(const struct net_device *dev);
/** generic_slot_ps() - a slot on the wire */
static inline u64 generic_slot_ps(u32 slot_bytes, u64 rate_bps)
{
	return (u64)kpn_wire_bytes(slot_bytes) * kpn_byte_time_ps(rate_bps);
}

/** generic_is_paced() - whether it may have taken as long as on a wire whose pace a link bears */
bool generic_is_paced(const struct generic_measured *measured);
/**
 * generic_lag_ns() - how late frames come back at most, held up interrupts included; NULL: nothing
 * was measured
 */
u32 generic_lag_ns(const struct generic_measured *measured);
/** generic_window() - slots the driver must have for the wire not to run dry */
u32 generic_window(u32 lag_ns, u32 slot_bytes, u64 rate_bps);
/** generic_limits() - the limits keepon.ko gets; without @measured what is assumed; RTNL */
void generic_limits(struct net_device *dev, u32 slot_bytes, u64 rate_bps,
		    const struct generic_measured *measured, struct keepon_native_caps *caps);
/** generic_describe() - a measurement as a sentence without an end */
void generic_describe(const struct generic_measured *measured, char *text, size_t room);

/* ---- measure.c ---- */

/**
 * generic_measure() - send placeholders for half a second and see when they come back;
 * RTNL, sleeps; nobody has claimed the device. Return: 0 or an error
 */
int generic_measure(struct net_device *dev, u32 slot_bytes, u64 rate_bps,
		    struct generic_measured *measured);

/* ---- pump.c ---- */

/** generic_pump_make() - a pump at rest, without slots: all are placeholders. NULL: no memory */
struct generic_pump *generic_pump_make(struct net_device *dev, u8 placeholder, u32 slot_bytes,
				       u64 rate_bps);
/**
 * generic_pump_begin() - nothing is handed out yet, no frame is with the driver; sleeps.
 * Return: 0 or -ENOMEM
 */
int generic_pump_begin(struct generic_pump *pump, struct generic_meter *meter);
/** generic_pump_end() - nothing is handed out any more; the driver may still have frames; sleeps */
void generic_pump_end(struct generic_pump *pump);
/** generic_pump_free() - at rest; @pump may be NULL */
void generic_pump_free(struct generic_pump *pump);
/** generic_pump_wait() - until the driver has given all frames back; sleeps. Return: whether so */
bool generic_pump_wait(const struct generic_pump *pump, u32 most_ms);
/** generic_tap_begin(), generic_tap_end() - see the frames of others; RTNL */
void generic_tap_begin(struct generic_pump *pump);
void generic_tap_end(struct generic_pump *pump);

/** generic_idx() - descriptor of a slot */
static inline u32 generic_idx(const struct generic_pump *pump, u64 seq)
{
	u32 idx;

	div_u64_rem(seq, pump->ring_slots, &idx);
	return idx;
}

/* ---- pace.c ---- */

/** generic_pump_done() - slots that came back */
u32 generic_pump_done(const struct generic_pump *pump);
/** generic_pace_left_locked() - how many slots have left, as far as is known now */
u32 generic_pace_left_locked(struct generic_pump *pump);
/** generic_pace_begin_locked() - nothing is with the driver: the next slot begins now */
void generic_pace_begin_locked(struct generic_pump *pump);

/* ---- frames.c ---- */

struct generic_flight *generic_flight_make(struct generic_pump *pump, struct generic_meter *meter);
void generic_flight_put(struct generic_flight *flight);
/** generic_flights() - frames of all devices that drivers have */
int generic_flights(void);
struct sk_buff *generic_blank_make(struct net_device *dev, u8 placeholder, u32 frame_bytes_max);
/** generic_skb_make() - the frame of pump->next; NULL: no memory now; softirq */
struct sk_buff *generic_skb_make(struct generic_pump *pump);

/* ---- ring.c ---- */

extern const struct kpn_nic_ops generic_ring_ops;

#endif
