/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * What a pacer is made of; seen by pacer.c (time, polls), post.c (lengths), insert.c (frames to come) and complete.c (what has
 * left) only.
 */
#ifndef KPN_PACER_STATE_H
#define KPN_PACER_STATE_H

#include "keepon/pacer.h"
#include "keepon/wire.h"
#include "kpn_math.h"

enum {
	/* Kept free for re-planning: from reading the CPU counter to the first store; the others outrun the wire. */
	KPN_REPLAN_NS = 2000,
};

struct kpn_pacer {
	struct kpn_config config;
	struct kpn_nic_caps caps;
	struct kpn_nic_ops nic_ops;
	void *nic;
	struct kpn_pacer_ops ops;
	void *context;

	struct kpn_clock clock;
	struct kpn_strip strip;
	struct kpn_ring ring;
	struct kpn_align align;
	struct kpn_partition partition;
	struct kpn_prebuffer prebuffer;
	struct kpn_stats stats;

	u64 slot_ps;
	u64 slot_ps_min; /* of a slot shortened as far as allowed */
	u64 sfd_ps;      /* slot start to reference plane */
	s64 early_ns;    /* txtime less this, plus early_rest_ps: the last instant at which its slot has not started */
	u64 restart_ps_max;          /* what one restart of the wire can cost */
	u64 restart_seq;             /* slot before which the wire last may have waited for a doorbell */
	u64 steady_ps;               /* wire position since which it cannot have been idle */
	u64 heap_due_seq;            /* slot of the earliest scheduled frame held back */
	u64 cursor[KPN_CLASS_COUNT]; /* best effort: after the last slot given to the class */
	u64 pending;                 /* frames held, in the ring and before it */
	u64 random;                  /* dither */
	u64 poll_ns;                 /* longest interval between polls */
	u64 dither_ns;
	u64 lock_slots_max; /* slots that reaching the grid can take, once they are planned */
	u32 early_rest_ps;
	u32 byte_ps;
	u32 real_bytes_max; /* longest frame that fits every slot it may get */
	u32 lead_slots;
	u32 gap_slots;       /* between two slots that may be trimmed */
	u32 lookahead_slots; /* how far best effort is placed ahead */
	u64 step_seq;        /* first slot that the last change of base could still reach */
	u64 partition_seq;   /* some slot not after the head, */
	u32 partition_idx;   /* and its table index */
	u32 posted_low;      /* post when no more than this is left */
	u32 quiet_slots;     /* with more than this posted the wire cannot have run dry */
	u64 plain_seq;       /* a reading that moves the head to before this has nothing unusual */
	u64 lag_lower_ps;    /* what the wire has moved on at least since a done index moved */
	u64 lag_upper_ns;    /* how long ago that was at most */
	u64 lag_upper_ps;    /* what the wire has moved on at most since then */
	u64 index_seq;       /* slot the NIC's index stands at: the head, or ahead of it for a fetch index */
	u32 head_index;      /* what the index read there */
	u64 renewed_polls;   /* polls when references were last renewed */
	u32 distrust;        /* readings still to agree before the strip is believed again */
	u16 *old_bytes;      /* per descriptor: from there on its buffer is zero; NULL: it is, wherever no frame is */
	u64 retracted[KPN_RING_SLOTS_MAX / KPN_RING_WORD_BITS]; /* descriptors whose trim re-planning took back */
	bool running;
	bool synchronised;
	bool phase_locked;
};

/** kpn_partition_idx_of() - table index of slot @seq, not before the head */
static inline u32 kpn_partition_idx_of(const struct kpn_pacer *pacer, u64 seq)
{
	u64 idx = pacer->partition_idx + (seq - pacer->partition_seq);

	/* without a step the distance grows for ever */
	if (KPN_UNLIKELY(idx >> 32))
		return kpn_partition_index(&pacer->partition, idx);
	return (u32)idx % pacer->partition.slots;
}

/**
 * kpn_upper_seq() - kpn_pacer_head().upper_seq alone, which every insertion needs; the strip is valid
 * @until_ns: receives a CPU time up to which the answer stays the same if nothing is polled, posted or adjusted
 */
static inline u64 kpn_upper_seq(const struct kpn_pacer *pacer, u64 cpu_ns, u64 *until_ns)
{
	const struct kpn_strip *strip = &pacer->strip;
	const struct kpn_ring *ring = &pacer->ring;
	u64 dt_ns = cpu_ns + 1 - strip->cpu_ns;
	u64 upper_ps;
	u64 end_ps;
	u64 seq;

	*until_ns = cpu_ns;
	if (KPN_UNLIKELY((s64)dt_ns < 0 || cpu_ns >= strip->rate_due_ns))
		return kpn_pacer_head(pacer, cpu_ns).upper_seq;
	upper_ps = strip->upper_ps + kpn_pace_ps(dt_ns, strip->pace_upper) + 1;
	if ((s64)(upper_ps - ring->tail_ps) > 0)
		return ring->tail_seq;
	if (KPN_UNLIKELY((s64)(upper_ps - ring->head_ps) < 0))
		return ring->head_seq;
	if (ring->trim_count) {
		seq = kpn_ring_seq_at(ring, upper_ps, &end_ps);
	} else {
		u64 slots = kpn_div_u64(upper_ps - ring->head_ps, ring->slot_ps);

		seq = ring->head_seq + slots;
		end_ps = ring->head_ps + (slots + 1) * ring->slot_ps;
	}
	/* The bound moves by less than 1024 ps a nanosecond, and nowhere near a renewal of the rates within a slot. */
	*until_ns += (end_ps - upper_ps) >> 10;
	return seq;
}

/* Not what usually happens: kept out of the way of what does. */
#define KPN_SELDOM __attribute__((__noinline__))

/** kpn_end_frame() - the pacer lets go of a frame: count and report its verdict, the last thing that happens to it */
static inline void kpn_end_frame(struct kpn_pacer *pacer, struct kpn_frame *frame, enum kpn_verdict verdict,
				 struct kpn_time start)
{
	pacer->pending--;
	pacer->stats.verdicts[verdict]++;
	pacer->ops.outcome(pacer->context, frame, verdict, start);
}

/** kpn_slot_bytes_with() - length in bytes of a slot that differs from nominal by @delta_ps */
static inline u32 kpn_slot_bytes_with(const struct kpn_pacer *pacer, s64 delta_ps)
{
	u32 bytes = (u32)kpn_div_u64(delta_ps < 0 ? 0 - (u64)delta_ps : (u64)delta_ps, pacer->byte_ps);

	return delta_ps < 0 ? pacer->config.slot_bytes - bytes : pacer->config.slot_bytes + bytes;
}

/** kpn_post_trimming() - plan and post @count slots at the tail, among them some that may have to be trimmed */
void kpn_post_trimming(struct kpn_pacer *pacer, u32 count);

/**
 * kpn_post_again() - everything posted from slot @from on gets its length again from the present clock and base
 *
 * @from is not before the head. Stores go from the nearest slot to the farthest, so that however many they are, they stay
 * ahead of the NIC. Nothing happens in paper mode.
 */
void kpn_post_again(struct kpn_pacer *pacer, u64 from);

/** kpn_insert_due() - place frames whose window has opened: scheduled ones, then best effort; once a poll */
void kpn_insert_due(struct kpn_pacer *pacer, u64 cpu_ns);

/**
 * kpn_insert_recall() - take every frame at or after @from back out of the ring
 *
 * Best effort returns to its FIFO; scheduled frames are returned as a list in txtime order of their slots. Frames before
 * @from stay and will be counted SENT_STALE.
 */
struct kpn_frame *kpn_insert_recall(struct kpn_pacer *pacer, u64 from);

/** kpn_insert_again() - submit recalled frames once more, or end them as STEPPED */
void kpn_insert_again(struct kpn_pacer *pacer, struct kpn_frame *list, u64 cpu_ns);

/**
 * kpn_complete_touched() - the head moves to @to, at most the tail, over slots that may carry frames or be trimmed
 *
 * Cost follows frames and trims. Return: where slot @to ends on the wire.
 */
u64 kpn_complete_touched(struct kpn_pacer *pacer, u64 to);

/** kpn_insert_flush() - end every frame held back or in the ring as FLUSHED */
void kpn_insert_flush(struct kpn_pacer *pacer);

/** kpn_insert_rekey() - the map from txtime to slot changed */
void kpn_insert_rekey(struct kpn_pacer *pacer);

#endif
