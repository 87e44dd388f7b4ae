// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Frames: which slot a txtime means, whether it may be had, and everything that can become of a frame
 * (KeepON paper sections 3.3 and 5). The only room that sees clock, ring and partition together.
 */
#include "kpn_math.h"
#include "kpn_padding.h"

enum { FRAME_BYTES_LEAST = 18 }; /* two addresses, a type, an FCS */

/*
 * A frame that may have any of several slots does not take one that the NIC may fetch within this time: it would be in doubt by
 * the least delay.
 */
#define STORE_NS 2000

/* 26 days: anchors are renewed every 13, so a slot this far from one is never near the head. */
#define TXTIME_SPAN_NS (1ll << 51)

static enum kpn_verdict end_now(struct kpn_pacer *pacer, enum kpn_verdict verdict)
{
	pacer->stats.verdicts[verdict]++;
	return verdict;
}

/*
 * Slot of a txtime. On the grid: floor takes the slot in progress, counted from slot start; up takes the first whose
 * reference plane is not before txtime - tolerance. Free-running: the paper's formula (C1) on the clock law.
 */
static inline u64 target_of(const struct kpn_pacer *pacer, const struct kpn_frame *frame)
{
	const struct kpn_ring *ring = &pacer->ring;
	s64 ns = frame->txtime_ns;

	if (KPN_UNLIKELY(!pacer->phase_locked)) {
		s64 anchor_ns = pacer->clock.anchor.ns;
		s64 away_ns = ns - anchor_ns;
		u64 position_ps;
		s64 ahead_ps;

		/* The law holds within 53 days of its anchor. What is further away is early, or late, all the same. */
		if (away_ns > TXTIME_SPAN_NS)
			ns = anchor_ns + TXTIME_SPAN_NS;
		if (away_ns < -TXTIME_SPAN_NS)
			ns = anchor_ns - TXTIME_SPAN_NS;
		position_ps = kpn_clock_position_at(&pacer->clock, (struct kpn_time){ ns, 0 });
		ahead_ps = (s64)(position_ps - ring->head_ps);
		if (ahead_ps < 0)
			return ring->head_seq - 1 - kpn_div_u64(0 - (u64)ahead_ps - 1, ring->slot_ps);
		return ring->head_seq + kpn_div_u64((u64)ahead_ps, ring->slot_ps);
	}
	if (pacer->config.classes[frame->tc].rounding == KPN_ROUND_FLOOR)
		return kpn_grid_floor(&pacer->align.grid, ns, 0) - pacer->align.base;
	/* First slot not before x = txtime - tolerance - sfd: the one after the last before or at x - 1 ps. */
	ns -= pacer->early_ns;
	if (ns < 0)
		return 0 - pacer->align.base;
	return kpn_grid_floor(&pacer->align.grid, ns, pacer->early_rest_ps) + 1 - pacer->align.base;
}

/*
 * First slot that may be changed at a CPU time; the strip is valid. Slots that a step came too late for are not given away
 * any more: they may have been trimmed when they belonged to no class, and belong to one now.
 */
static inline u64 first_seq_at(const struct kpn_pacer *pacer, u64 cpu_ns, u64 *until_ns)
{
	u64 first_seq = kpn_upper_seq(pacer, cpu_ns, until_ns) + pacer->lead_slots;

	return first_seq < pacer->step_seq ? pacer->step_seq : first_seq;
}

/* struct opening - kpn_window, and the CPU time up to which its first slot certainly remains the first */
struct opening {
	u64 first_seq;
	u64 end_seq;
	u64 until_ns;
	bool valid;
};

static inline struct opening opening_at(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct opening opening = { .until_ns = 0, .valid = pacer->strip.valid && !pacer->distrust };

	if (KPN_LIKELY(opening.valid))
		opening.first_seq = first_seq_at(pacer, cpu_ns, &opening.until_ns);
	else
		opening.first_seq = pacer->ring.tail_seq + pacer->lead_slots;
	opening.end_seq = pacer->ring.head_seq + pacer->ring.slots;
	return opening;
}

struct kpn_window kpn_pacer_window(const struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct opening opening = opening_at(pacer, cpu_ns);

	return (struct kpn_window){ opening.first_seq, opening.end_seq, opening.valid };
}

static inline bool allowed_in(const struct kpn_pacer *pacer, u64 seq, u8 tc)
{
	return kpn_partition_allows(&pacer->partition, kpn_partition_idx_of(pacer, seq), tc);
}

static inline u32 length_of(const struct kpn_pacer *pacer, u64 seq)
{
	if (!pacer->ring.trim_count)
		return pacer->config.slot_bytes;
	return kpn_slot_bytes_with(pacer, kpn_ring_delta_ps(&pacer->ring, seq));
}

static KPN_SELDOM bool lost_by(const struct kpn_pacer *pacer, u64 seq, u64 cpu_ns)
{
	u64 until_ns;

	return (s64)(seq - first_seq_at(pacer, cpu_ns, &until_ns)) < 0;
}

static KPN_SELDOM bool fetched_by(const struct kpn_pacer *pacer, u64 seq, u64 cpu_ns)
{
	u64 until_ns;

	return pacer->strip.valid && seq < pacer->ring.tail_seq &&
	       seq <= kpn_upper_seq(pacer, cpu_ns, &until_ns) + pacer->caps.prefetch_slots_max;
}

/* Whether slot @seq of an opening is lost by now, or will be in @ahead_ns. */
static inline bool lost(const struct kpn_pacer *pacer, u64 seq, const struct opening *opening, u64 ahead_ns)
{
	u64 cpu_ns = pacer->nic_ops.cpu_ns(pacer->nic) + ahead_ns;

	return KPN_UNLIKELY(cpu_ns > opening->until_ns) && lost_by(pacer, seq, cpu_ns);
}

/*
 * Whether the NIC may have fetched slot @seq, which it had not until @until_ns. Asked after a store: a CPU held up just before
 * it (by firmware, by a hypervisor) stores too late whatever was checked, and no NIC tells.
 */
static inline bool may_be_fetched(const struct kpn_pacer *pacer, u64 seq, u64 until_ns)
{
	u64 cpu_ns = pacer->nic_ops.cpu_ns(pacer->nic);

	return KPN_UNLIKELY(cpu_ns > until_ns) && fetched_by(pacer, seq, cpu_ns);
}

/*
 * Copy first, then one store makes the slot real: the NIC never fetches half a frame (C19). Copying took time, so just before
 * that store the head is asked for once more. Return: false if the slot is no longer to be had; a placeholder it has
 * remained, which sends nothing of what was copied.
 */
static inline bool place_inline(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq, enum kpn_verdict verdict,
				const struct opening *opening, u64 ahead_ns)
{
	u32 desc = kpn_ring_desc(&pacer->ring, seq);
	u32 data_bytes = frame->frame_bytes - KPN_FCS_BYTES;
	u32 slot_bytes = length_of(pacer, seq);

	/* submit has seen that it fits a slot of nominal length */
	KPN_ASSERT(!pacer->ring.trim_count || slot_bytes >= frame->frame_bytes);
	memcpy(pacer->nic_ops.buffer(pacer->nic, desc), frame->data, data_bytes);
	if (KPN_UNLIKELY(pacer->old_bytes))
		kpn_pad(pacer, desc, data_bytes);
	if (KPN_UNLIKELY(lost(pacer, seq, opening, ahead_ns))) {
		kpn_wipe(pacer, desc, data_bytes);
		return false;
	}
	pacer->nic_ops.commit(pacer->nic, desc, slot_bytes, data_bytes);
	kpn_ring_claim(&pacer->ring, seq, desc, frame);
	frame->seq = seq;
	frame->verdict = verdict;
	if (KPN_UNLIKELY(may_be_fetched(pacer, seq, opening->until_ns)))
		frame->verdict = KPN_VERDICT_IN_DOUBT;
	return true;
}

/* The same for all but the usual: a scheduled frame in its own slot. */
static KPN_SELDOM bool place(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 seq, enum kpn_verdict verdict,
			     const struct opening *opening)
{
	return place_inline(pacer, frame, seq, verdict, opening, STORE_NS);
}

/*
 * The frame in slot @seq is taken back; the slot keeps the length it has. Return: NULL if it may leave all the same. Its slot
 * keeps it then, and its bytes: the NIC may be reading them.
 */
static struct kpn_frame *withdraw_at(struct kpn_pacer *pacer, u64 seq)
{
	u32 desc = kpn_ring_desc(&pacer->ring, seq);
	struct kpn_frame *frame = kpn_ring_frame(&pacer->ring, seq);

	pacer->nic_ops.restore(pacer->nic, desc, length_of(pacer, seq));
	if (KPN_UNLIKELY(may_be_fetched(pacer, seq, 0))) {
		frame->verdict = KPN_VERDICT_IN_DOUBT;
		return NULL;
	}
	kpn_ring_release(&pacer->ring, desc);
	kpn_wipe(pacer, desc, (u32)frame->frame_bytes - KPN_FCS_BYTES);
	return frame;
}

/* Or in doubt: that stays where it is, too. */
static bool is_scheduled(const struct kpn_frame *frame)
{
	return frame->verdict != KPN_VERDICT_BEST_EFFORT;
}

/* Take best effort of the class that holds @seq back from there on, so that its order is kept. */
static void displace(struct kpn_pacer *pacer, u64 seq)
{
	struct kpn_ring *ring = &pacer->ring;
	u8 tc = kpn_ring_frame(ring, seq)->tc;
	u64 end = pacer->cursor[tc];
	struct kpn_frame *taken = NULL;
	u64 at;

	for (at = kpn_ring_next_claimed(ring, seq, end); at != end; at = kpn_ring_next_claimed(ring, at + 1, end)) {
		struct kpn_frame *frame = kpn_ring_frame(ring, at);

		if (frame->tc != tc || is_scheduled(frame))
			continue;
		if (KPN_UNLIKELY(!withdraw_at(pacer, at)))
			continue;
		frame->next = taken;
		taken = frame;
	}
	while (taken) {
		struct kpn_frame *frame = taken;

		taken = frame->next;
		pacer->stats.displaced++;
		kpn_prebuffer_put_back(&pacer->prebuffer, frame);
	}
	pacer->cursor[tc] = seq;
}

/* Whether a scheduled frame can have the slot, best effort making room. */
static inline bool vacate(struct kpn_pacer *pacer, u64 seq)
{
	const struct kpn_frame *holder = kpn_ring_frame(&pacer->ring, seq);

	if (!holder)
		return true;
	if (is_scheduled(holder))
		return false;
	displace(pacer, seq);
	return !kpn_ring_frame(&pacer->ring, seq);
}

static bool place_later(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 from, const struct opening *opening)
{
	u64 seq;

	for (seq = from; (s64)(opening->end_seq - seq) > 0; seq++) {
		if (allowed_in(pacer, seq, frame->tc) && vacate(pacer, seq) &&
		    place(pacer, frame, seq, KPN_VERDICT_MOVED, opening))
			return true;
	}
	return false;
}

/* First slot that is, or certainly will be, on the grid. */
static u64 lock_seq_of(const struct kpn_pacer *pacer)
{
	if (!pacer->phase_locked)
		return 0;
	if (pacer->align.lock_seq != KPN_SEQ_NEVER)
		return pacer->align.lock_seq;
	return pacer->ring.tail_seq + pacer->lock_slots_max;
}

/* Not the slot its txtime asks for: what its class wants then. */
static KPN_SELDOM enum kpn_verdict place_elsewhere(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 target,
						   u64 cpu_ns, enum kpn_verdict verdict)
{
	struct opening opening = opening_at(pacer, cpu_ns + STORE_NS);
	u64 lock_seq = lock_seq_of(pacer);
	u64 from = opening.first_seq;

	if (pacer->config.classes[frame->tc].late == KPN_LATE_STRICT)
		return verdict;
	if ((s64)(target - from) > 0)
		from = target;
	if (lock_seq > from)
		from = lock_seq < opening.end_seq ? lock_seq : opening.end_seq;
	if (place_later(pacer, frame, from, &opening))
		return KPN_VERDICT_PENDING;
	if (pacer->config.classes[frame->tc].late == KPN_LATE_RELAXED)
		return KPN_VERDICT_NO_SLOT;
	if (!kpn_prebuffer_append(&pacer->prebuffer, frame))
		return KPN_VERDICT_NO_ROOM;
	return KPN_VERDICT_PENDING;
}

/* A scheduled frame whose slot lies before the end of the window. Return: pending, or why not. */
static inline enum kpn_verdict place_scheduled(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 target, u64 cpu_ns,
					       const struct opening *opening)
{
	enum kpn_verdict verdict = KPN_VERDICT_LATE; /* also if the slot is lost while copying */

	if (KPN_LIKELY((s64)(target - opening->first_seq) >= 0)) {
		if (KPN_UNLIKELY(target < lock_seq_of(pacer)))
			verdict = KPN_VERDICT_UNLOCKED;
		else if (!allowed_in(pacer, target, frame->tc))
			verdict = KPN_VERDICT_NOT_ALLOWED;
		else if (!vacate(pacer, target))
			verdict = KPN_VERDICT_OCCUPIED;
		else if (place_inline(pacer, frame, target, KPN_VERDICT_ON_TIME, opening, 0))
			return KPN_VERDICT_PENDING;
	}
	return place_elsewhere(pacer, frame, target, cpu_ns, verdict);
}

void kpn_insert_rekey(struct kpn_pacer *pacer)
{
	const struct kpn_frame *frame = kpn_prebuffer_earliest(&pacer->prebuffer);

	pacer->heap_due_seq = frame ? target_of(pacer, frame) : KPN_SEQ_NEVER;
}

static enum kpn_verdict hold(struct kpn_pacer *pacer, struct kpn_frame *frame, enum kpn_verdict otherwise)
{
	if (!pacer->config.prebuffer_frames)
		return otherwise;
	if (!kpn_prebuffer_schedule(&pacer->prebuffer, frame))
		return KPN_VERDICT_NO_ROOM;
	pacer->stats.prebuffered++;
	if (kpn_prebuffer_earliest(&pacer->prebuffer) == frame)
		kpn_insert_rekey(pacer);
	return KPN_VERDICT_PENDING;
}

static inline enum kpn_verdict submit_scheduled(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 cpu_ns)
{
	struct opening opening = opening_at(pacer, cpu_ns);
	u64 target = target_of(pacer, frame);

	if (!opening.valid)
		return pacer->running ? hold(pacer, frame, KPN_VERDICT_UNSYNCHRONISED) : KPN_VERDICT_FLUSHED;
	if ((s64)(target - opening.end_seq) >= 0)
		return hold(pacer, frame, KPN_VERDICT_TOO_EARLY);
	return place_scheduled(pacer, frame, target, cpu_ns, &opening);
}

static u64 best_effort_end(const struct kpn_pacer *pacer, const struct opening *opening)
{
	u64 end = opening->first_seq + pacer->lookahead_slots;

	return (s64)(opening->end_seq - end) < 0 ? opening->end_seq : end;
}

/* Best effort in its order: class tc may not use a slot before its last one. */
static void place_best_effort(struct kpn_pacer *pacer, u8 tc, u64 seq, const struct opening *opening)
{
	struct kpn_frame *frame = kpn_prebuffer_take_first(&pacer->prebuffer, tc);

	enum kpn_verdict verdict = frame->flags & KPN_FRAME_TXTIME ? KPN_VERDICT_MOVED : KPN_VERDICT_BEST_EFFORT;

	if (place(pacer, frame, seq, verdict, opening))
		pacer->cursor[tc] = seq + 1;
	else
		kpn_prebuffer_put_back(&pacer->prebuffer, frame);
}

/* Fill free slots of the lookahead from the FIFOs, the highest class a slot allows first. */
static void fill(struct kpn_pacer *pacer, const struct opening *opening)
{
	const struct kpn_partition *partition = &pacer->partition;
	u64 first = opening->first_seq;
	u64 end = best_effort_end(pacer, opening);
	u64 start = KPN_SEQ_NEVER;
	u32 left = pacer->prebuffer.backlog;
	u32 idx;
	u64 seq;

	while (left) {
		u32 tc = (u32)__builtin_ctz(left);

		if (pacer->cursor[tc] < start)
			start = pacer->cursor[tc];
		left &= left - 1;
	}
	if (start < first)
		start = first;
	if (start >= end)
		return;
	idx = kpn_partition_idx_of(pacer, start);
	for (seq = start; seq != end && pacer->prebuffer.backlog; seq++) {
		u32 eligible = partition->allowed[idx] & pacer->prebuffer.backlog;

		if (++idx == partition->slots)
			idx = 0;
		if (!eligible || kpn_ring_frame(&pacer->ring, seq))
			continue;
		while (eligible) {
			u8 tc = (u8)(31 - __builtin_clz(eligible));

			if (seq >= pacer->cursor[tc]) {
				place_best_effort(pacer, tc, seq, opening);
				break;
			}
			eligible &= ~(1u << tc);
		}
	}
}

static enum kpn_verdict submit_best_effort(struct kpn_pacer *pacer, struct kpn_frame *frame, u64 cpu_ns)
{
	struct opening opening = opening_at(pacer, cpu_ns + STORE_NS);
	bool behind = pacer->prebuffer.backlog >> frame->tc & 1;

	if (opening.valid && !behind) {
		u64 end = best_effort_end(pacer, &opening);
		u64 seq = pacer->cursor[frame->tc];

		if (seq < opening.first_seq)
			seq = opening.first_seq;
		for (; (s64)(end - seq) > 0; seq++) {
			if (!allowed_in(pacer, seq, frame->tc) || kpn_ring_frame(&pacer->ring, seq) ||
			    !place(pacer, frame, seq, KPN_VERDICT_BEST_EFFORT, &opening))
				continue;
			pacer->cursor[frame->tc] = seq + 1;
			return KPN_VERDICT_PENDING;
		}
	}
	if (!pacer->running) /* the strip is not valid then */
		return KPN_VERDICT_FLUSHED;
	if (!kpn_prebuffer_append(&pacer->prebuffer, frame))
		return pacer->config.prebuffer_frames ? KPN_VERDICT_NO_ROOM : KPN_VERDICT_NO_SLOT;
	return KPN_VERDICT_PENDING;
}

/* Why a frame cannot even be looked at. */
static enum kpn_verdict refusal(const struct kpn_frame *frame)
{
	if (frame->frame_bytes < FRAME_BYTES_LEAST || frame->tc >= KPN_CLASS_COUNT ||
	    ((frame->flags & KPN_FRAME_TXTIME) && frame->txtime_ns < 0))
		return KPN_VERDICT_INVALID;
	return KPN_VERDICT_OVERSIZE;
}

enum kpn_verdict kpn_pacer_submit(struct kpn_pacer *pacer, struct kpn_frame *frame)
{
	enum kpn_verdict verdict;

	pacer->stats.submitted++;
	if (KPN_UNLIKELY((u32)frame->frame_bytes - FRAME_BYTES_LEAST > pacer->real_bytes_max - FRAME_BYTES_LEAST ||
			 frame->tc >= KPN_CLASS_COUNT))
		verdict = refusal(frame);
	else if (!(frame->flags & KPN_FRAME_TXTIME))
		verdict = submit_best_effort(pacer, frame, pacer->nic_ops.cpu_ns(pacer->nic));
	else if (KPN_UNLIKELY(frame->txtime_ns < 0))
		verdict = KPN_VERDICT_INVALID;
	else
		verdict = submit_scheduled(pacer, frame, pacer->nic_ops.cpu_ns(pacer->nic));
	if (verdict != KPN_VERDICT_PENDING)
		return end_now(pacer, verdict);
	pacer->pending++;
	return verdict;
}

void kpn_insert_due(struct kpn_pacer *pacer, u64 cpu_ns)
{
	struct opening opening;

	if (!pacer->prebuffer.backlog && (!pacer->prebuffer.heap_count ||
					  (s64)(pacer->heap_due_seq - pacer->ring.head_seq) >= (s64)pacer->ring.slots))
		return;
	opening = opening_at(pacer, cpu_ns);
	if (!opening.valid)
		return;
	while (pacer->prebuffer.heap_count && (s64)(pacer->heap_due_seq - opening.end_seq) < 0) {
		struct kpn_frame *frame = kpn_prebuffer_take_earliest(&pacer->prebuffer);
		enum kpn_verdict verdict = place_scheduled(pacer, frame, pacer->heap_due_seq, cpu_ns, &opening);

		if (verdict != KPN_VERDICT_PENDING)
			kpn_end_frame(pacer, frame, verdict, (struct kpn_time){ 0, 0 });
		kpn_insert_rekey(pacer);
	}
	if (pacer->prebuffer.backlog) {
		opening = opening_at(pacer, cpu_ns + STORE_NS);
		fill(pacer, &opening);
	}
}

struct kpn_frame *kpn_insert_recall(struct kpn_pacer *pacer, u64 from)
{
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->head_seq + ring->slots;
	struct kpn_frame *scheduled = NULL;
	struct kpn_frame **last = &scheduled;
	struct kpn_frame *best_effort = NULL;
	u32 tc;
	u64 at;

	for (at = kpn_ring_next_claimed(ring, ring->head_seq, end); at != end;
	     at = kpn_ring_next_claimed(ring, at + 1, end)) {
		struct kpn_frame *frame = kpn_ring_frame(ring, at);

		if ((s64)(at - from) < 0) {
			if (frame->verdict == KPN_VERDICT_ON_TIME)
				frame->verdict = KPN_VERDICT_SENT_STALE;
			continue;
		}
		if (KPN_UNLIKELY(!withdraw_at(pacer, at)))
			continue;
		pacer->stats.recalled++;
		if (frame->flags & KPN_FRAME_TXTIME) {
			frame->next = NULL;
			*last = frame;
			last = &frame->next;
		} else {
			frame->next = best_effort;
			best_effort = frame;
		}
	}
	while (best_effort) {
		struct kpn_frame *frame = best_effort;

		best_effort = frame->next;
		kpn_prebuffer_put_back(&pacer->prebuffer, frame);
	}
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		if ((s64)(pacer->cursor[tc] - from) > 0)
			pacer->cursor[tc] = from;
	}
	return scheduled;
}

void kpn_insert_again(struct kpn_pacer *pacer, struct kpn_frame *list, u64 cpu_ns)
{
	while (list) {
		struct kpn_frame *frame = list;
		enum kpn_verdict verdict;

		list = frame->next;
		frame->next = NULL;
		verdict = submit_scheduled(pacer, frame, cpu_ns);
		if (verdict != KPN_VERDICT_PENDING)
			kpn_end_frame(pacer, frame, KPN_VERDICT_STEPPED, (struct kpn_time){ 0, 0 });
	}
}

void kpn_insert_flush(struct kpn_pacer *pacer)
{
	const struct kpn_time never = { 0, 0 };
	struct kpn_ring *ring = &pacer->ring;
	u64 end = ring->head_seq + ring->slots;
	u64 at;
	u8 tc;

	for (at = kpn_ring_next_claimed(ring, ring->head_seq, end); at != end;
	     at = kpn_ring_next_claimed(ring, at + 1, end))
		kpn_end_frame(pacer, withdraw_at(pacer, at), KPN_VERDICT_FLUSHED, never);
	while (pacer->prebuffer.heap_count)
		kpn_end_frame(pacer, kpn_prebuffer_take_earliest(&pacer->prebuffer), KPN_VERDICT_FLUSHED, never);
	for (tc = 0; tc < KPN_CLASS_COUNT; tc++) {
		while (pacer->prebuffer.backlog >> tc & 1)
			kpn_end_frame(pacer, kpn_prebuffer_take_first(&pacer->prebuffer, tc), KPN_VERDICT_FLUSHED,
				      never);
	}
	kpn_insert_rekey(pacer);
}
