/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * The state of a pacer, and the file that does each task:
 *
 *	pacer		made, started, polled
 *	stop		the end of a run
 *	reading		a reading of the index: bounds on the wire, and errors
 *	index		an index taken, or undone because the wire cannot be so far
 *	doubt		what makes the wire less certain
 *	head		where the wire is, which slots can still be changed
 *	pacer_clock	the PHC: reading and setting it
 *	replan		slots whose instants changed with the clock
 *	switch		another partition from a slot on
 *	promises	what a configuration promises
 *	report		what a pacer reports of itself
 *	post		slots handed to the NIC, and their lengths
 *	complete	slots that have left
 *	target		which slot a txtime means
 *	place		bytes into a slot
 *	fallback	other slots than a frame's own
 *	insert		frames on their way into the ring
 *	waiting		frames that wait before the ring in the order of their class
 *	search		free slots of a class
 *	recall		frames taken back out of the ring
 *
 * Nothing here is visible outside core/src. kpn_NAME.h has what NAME.c offers to other files.
 */
#ifndef KPN_PACER_STATE_H
#define KPN_PACER_STATE_H

#include "keepon/credit.h"
#include "keepon/errno.h"
#include "keepon/pacer.h"
#include "keepon/wire.h"
#include "kpn_inline.h"
#include "kpn_math.h"

enum {
	/*
	 * Margin for planning, from reading the CPU counter to the end of the first store, which
	 * takes 2 us on a slow bus or an emulated CPU; later stores are faster than the wire.
	 */
	KPN_REPLAN_NS = 4000,
	/*
	 * A frame that may have any of several slots does not take one that the NIC may fetch
	 * within this time: the least delay would put the frame in doubt.
	 */
	KPN_STORE_NS = 2000,
	/* No copy of a frame takes longer: the CPU was held up. */
	KPN_INSERT_MARGIN_NS_MAX = 1000000,
};

/** struct kpn_table - a partition, and its position: slot @seq has plane index @index */
struct kpn_table {
	const struct kpn_partition *partition;
	u64 seq;
	u32 index;
};

/** enum kpn_todo - bits */
enum kpn_todo {
	KPN_TODO_PLAN = 1 << 0,   /* lengths are planned only up to ring.plan, not to the tail */
	KPN_TODO_REVIEW = 1 << 1, /* there is a range to review */
	KPN_TODO_SWITCH = 1 << 2, /* there is a second table */
	KPN_TODO_TABLE = 1 << 3,  /* slots to be planned may have belonged to no class before */
};

/* changes of rate that slots posted together may have seen before they count as off the grid */
enum { KPN_RATE_CHANGES = 4 };

#define KPN_POST_NOW 0xffffffffu

struct kpn_pacer {
	struct kpn_config config;
	struct kpn_nic_caps caps;
	struct kpn_nic_ops nic_ops;
	void *nic;

	struct kpn_clock clock;
	struct kpn_strip strip;
	struct kpn_ring ring;
	struct kpn_align align;
	struct kpn_prebuffer prebuffer;
	struct kpn_stats stats;

	/* reading: what the index has said, and how far to trust it */
	struct {
		/* a reading that moves the index to before this takes the fast path */
		u64 fast_path_end_seq;
		/* one slot for a fetch index, which describes the slot before it */
		u64 index_back_ps;
		/* least movement of the wire since the index passed a slot; modulo 2^64 */
		u64 lower_ahead_ps;
		u64 upper_ahead_ps; /* greatest movement, without the duration of the reading */
		u64 tick_ps;        /* greatest movement of the wire in a tick */
		u64 restart_ps_max; /* greatest delay by one restart of the wire */
		/* last slot before which the wire may have waited for a doorbell */
		u64 restart_seq;
		/* since this position the wire cannot have been idle; within 2^60 of the head */
		u64 steady_ps;
		u64 read_ns;     /* when the last reading of a poll ended */
		u64 progress_ns; /* when the index last moved */
		u64 looked_ns;   /* when the last poll off the fast path began */
		u64 refused_ns;  /* how long the index has been outside the posted slots */
		/* when the index last was further on than the wire can be; 0: it is not */
		u64 jump_ns;
		u64 stall_ns;      /* how long the index may stand still */
		u64 renewed_polls; /* polls when references were last renewed */
		u32 index_modulus;
		u32 head_index;  /* reading of the index at ring.index */
		u32 jump_index;  /* reading of the index at jump_ns */
		u32 quiet_slots; /* with more slots posted than this the wire cannot have run dry */
		u32 distrust;    /* readings that must agree before the strip is believed again */
		/* slots before doubtful_seq together may differ by this from the lengths stored */
		u64 doubtful_ps;
		u64 doubtful_seq;
		u64 unsure_seq; /* frames in slots before it may leave off their times */
		u32 tick_ns;
	} reading;

	/* time: of slots, and between polls */
	struct {
		u64 slot_ps;
		u64 slot_ps_min; /* of a slot shortened by the whole of trim_down */
		u64 sfd_ps;      /* slot start to reference plane */
		/*
		 * txtime - early_ns, plus early_rest_ps, is the last instant at which the slot of
		 * the txtime has not started
		 */
		s64 early_ns;
		u32 early_rest_ps;
		u32 byte_ps;
		u64 poll_ns; /* longest interval between polls */
		u64 dither_ns;
		u64 random; /* of the dither */
	} time;

	/* posting: slots handed to the NIC, and their lengths */
	struct {
		u32 posted_low; /* post when no more than this is posted; KPN_POST_NOW: always */
		u32 usual_low;
		u64 post_seq;   /* with KPN_POST_NOW: post up to here */
		u32 trims_max;  /* lengths changed by one call */
		u32 trims_left; /* rest of trims_max, for slots that have left */
		u32 rearm_max;  /* descriptors handed over by one call */
		/* distance of slots that may be trimmed, as the configuration was validated */
		u32 gap_slots_max;
		/* most planned slots until the grid is reached */
		u64 lock_slots_max;
	} posting;

	/* frames: in the ring and before it */
	struct {
		struct kpn_table table[2]; /* the second one from switch_seq on */
		u64 switch_seq;
		u64 switch_net_slot;
		u64 heap_due_seq;  /* slot of the earliest scheduled frame held back */
		u64 horizon_slots; /* scheduled frames further ahead than this are refused */
		/*
		 * first slots that could be planned at the last changes of rate, the greatest of
		 * which was rate_change_ppb; changes that the wire has passed do not matter
		 */
		u64 rate_change_seq[KPN_RATE_CHANGES];
		u32 rate_change_ppb;
		u64 step_seq;  /* first slot that the last change of base could still reach */
		u64 floor_seq; /* no slot before it is given away */
		/* frames in [review_seq, review_end) may be in wrong slots */
		u64 review_seq;
		u64 review_end;
		u64 offered_seq; /* slots before it have been offered to all waiting frames */
		/* best effort: after the last slot given to the class */
		u64 cursor[KPN_CLASS_COUNT];
		u64 pending;        /* frames held, in the ring and before it */
		u32 classes;        /* those with a slot in the first table */
		u32 real_bytes_max; /* longest frame that fits every slot it may get */
		u32 window_slots;   /* from the head on: where a frame may begin */
		/* slots after the one on the wire that can have been fetched */
		u32 fetched_slots;
		u32 lead_slots;
		u32 lookahead_slots; /* how far from the head best effort is placed ahead */
		/* least such distance from the first slot that can be changed */
		u32 lookahead_min;
		u32 yielding_max; /* best-effort frames in the ring at once */
		u32 left;         /* of the budget of the call under way */
		/*
		 * margin beyond KPN_STORE_NS for frames that may have any of several slots; follows
		 * the frames that were late
		 */
		u32 insert_margin_ns;
		/*
		 * of the bytes of a frame that has left; 0 with padding on demand, where the next
		 * frame overwrites them
		 */
		u32 zeroed_mask;
		/*
		 * per descriptor: its buffer is zero from there on; NULL: every buffer without a
		 * frame is zero
		 */
		u16 *old_bytes;
		u32 shaped; /* classes whose best effort is sent as their credit allows */
		struct kpn_credit credit[KPN_CLASS_COUNT];
	} frames;

	/* span: frames of several slots */
	struct {
		struct kpn_span_rule rule;
		u32 slots_max; /* of the longest frame; 1: none is longer than a slot */
		/* by how much the slots of a frame together may differ from nominal */
		s64 keep_ps;
		/* extra slots of distance before its first slot, for its stores */
		u32 ahead_slots;
		u64 stores_ns; /* time for all stores of the longest frame */
	} span;

	/* stop: how far the wire got */
	struct {
		u64 sent_seq;  /* frames in slots before this one have left */
		u64 doubt_seq; /* frames in slots before this one may have left */
	} stop;

	/* for the caller */
	struct kpn_frame *ended;
	struct kpn_frame **ended_last;
	u32 events;

	u32 todo; /* enum kpn_todo: what polls have still to do */
	bool running;
	bool synchronised;
	bool phase_locked;
};

static inline u64 kpn_cpu_now(const struct kpn_pacer *pacer)
{
	return pacer->nic_ops.cpu_ns(pacer->nic);
}

static inline u64 kpn_middle_of(struct kpn_interval interval)
{
	return interval.lower_ps + (interval.upper_ps - interval.lower_ps) / 2;
}

static inline bool kpn_has_completions(const struct kpn_pacer *pacer)
{
	return (uintptr_t)pacer->ended | pacer->events;
}

static inline void kpn_emit(struct kpn_pacer *pacer, enum kpn_event event)
{
	pacer->events |= 1u << event;
}

/**
 * kpn_end_list() - append a linked list of frames, verdict and start set, to the frames that have
 * ended
 */
static inline void kpn_end_list(struct kpn_pacer *pacer, struct kpn_frame *first,
				struct kpn_frame **last)
{
	*pacer->ended_last = first;
	*last = NULL;
	pacer->ended_last = last;
}

/** kpn_end_frame() - the pacer lets go of a frame not sent: count and report its verdict */
static inline void kpn_end_frame(struct kpn_pacer *pacer, struct kpn_frame *frame,
				 enum kpn_verdict verdict)
{
	frame->verdict = (u8)verdict;
	frame->start = (struct kpn_time){ 0, 0 };
	pacer->frames.pending--;
	pacer->stats.verdicts[verdict]++;
	kpn_end_list(pacer, frame, &frame->next);
}

/** kpn_spend() - use up one frame of the budget of this call */
static inline void kpn_spend(struct kpn_pacer *pacer)
{
	if (pacer->frames.left)
		pacer->frames.left--;
}

/** kpn_slot_bytes_with() - length in bytes of a slot that differs from nominal by @delta_ps */
static inline u32 kpn_slot_bytes_with(const struct kpn_pacer *pacer, s64 delta_ps)
{
	u32 bytes = (u32)kpn_div_u64(delta_ps < 0 ? 0 - (u64)delta_ps : (u64)delta_ps,
				     pacer->time.byte_ps);

	return delta_ps < 0 ? pacer->config.slot_bytes - bytes : pacer->config.slot_bytes + bytes;
}

#endif
