// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the wire saw, exactly: NIC/wire in debugfs. Real frames one by one, placeholders as runs of
 * equal slots that follow each other. Times are those of the reference plane (first bit after the
 * SFD) at the sender's end of the wire.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "record.h"
#include "ring.h"

enum { ENTRY_FRAME, ENTRY_RUN, ENTRY_MARK };

enum { HEAD_BYTES = 96 };

/* Runs are extrapolated in the NIC's time; so long a one is off by little in any other. */
enum { RUN_SLOTS_MAX = 512 };

/** struct hwsim_entry - @true_ps: CLOCK_MONOTONIC_RAW less the epoch of hwsim_true_ps() */
struct hwsim_entry {
	u64 seq;
	u64 count;
	u64 true_ps;
	u64 pitch_ps;
	struct hwsim_instant phc;
	const char *what;
	u32 frame_bytes;
	u8 kind;
	u8 verdict;
	u8 queue;
	u8 head_bytes;
	u8 head[HEAD_BYTES];
};

/*
 * struct hwsim_record - the last @size entries of @written; a run that ends at @end_local_ps may go
 * on in @open, unless that is NULL
 */
struct hwsim_record {
	u64 written;
	u64 end_local_ps;
	struct hwsim_entry *open;
	u32 size;
	struct hwsim_entry entry[];
};

/* ---- entries ---- */

static struct hwsim_entry *new_entry(struct hwsim_port *port, u8 kind)
{
	struct hwsim_record *record = port->record;
	struct hwsim_entry *entry;
	u32 slot;

	div_u64_rem(record->written++, record->size, &slot);
	entry = &record->entry[slot];
	memset(entry, 0, offsetof(struct hwsim_entry, head));
	entry->kind = kind;
	record->open = NULL;
	return entry;
}

static void set_times(struct hwsim_port *port, struct hwsim_entry *entry, u64 sfd_local_ps)
{
	entry->true_ps = hwsim_true_of_ps(port->tb, sfd_local_ps);
	entry->phc = hwsim_phc_at(port->tb, sfd_local_ps);
}

/* @count placeholders, back to back; port locked */
static void record_run(struct hwsim_port *port, u64 seq, u64 count, u64 start_local_ps,
		       u64 pitch_ps, u32 frame_bytes)
{
	u64 sfd_ps = start_local_ps + (u64)HWSIM_PREAMBLE_BYTES * port->byte_ps;
	struct hwsim_record *record = port->record;
	struct hwsim_entry *entry;

	if (!record)
		return;
	entry = record->open;
	if (entry && entry->pitch_ps == pitch_ps && record->end_local_ps == start_local_ps &&
	    entry->count + count <= RUN_SLOTS_MAX) {
		entry->count += count;
	} else {
		entry = new_entry(port, ENTRY_RUN);
		entry->seq = seq;
		entry->count = count;
		entry->pitch_ps = pitch_ps;
		entry->frame_bytes = frame_bytes;
		set_times(port, entry, sfd_ps);
		record->open = entry;
	}
	record->end_local_ps = start_local_ps + count * pitch_ps;
	if (port->capture)
		hwsim_capture_run(port->capture, count, sfd_ps, pitch_ps, frame_bytes);
}

/*
 * hwsim_record_mark() - @what: "reset" after @count slots, "forgotten": @count slots too long ago;
 * port locked
 */
void hwsim_record_mark(struct hwsim_port *port, const char *what, u64 count)
{
	struct hwsim_entry *entry;

	if (!port->record)
		return;
	entry = new_entry(port, ENTRY_MARK);
	entry->what = what;
	entry->count = count;
}

static void record_alike(struct hwsim_nic *nic, u64 seq, u64 count,
			 const struct ring_nic_slot *first)
{
	u64 pitch_bytes = div_u64(first->pitch_ps, nic->ring->params.byte_time_ps);
	u64 frame_bytes = pitch_bytes - RING_NIC_PREAMBLE_BYTES - RING_NIC_GAP_BYTES;

	/* descriptors of several frames together may be longer than any frame */
	record_run(&nic->port, seq, count, first->start_ps, first->pitch_ps,
		   (u32)min_t(u64, frame_bytes, HWSIM_FRAME_BYTES_MAX));
}

/*
 * hwsim_ring_record() - runs of placeholders before slot @end_seq go into the record; port locked
 */
void hwsim_ring_record(struct hwsim_nic *nic, u64 end_seq)
{
	struct hwsim_ring *ring = nic->ring;
	struct ring_nic_slot first = { 0 };
	u64 first_seq = 0;
	u64 count = 0;
	u64 lost = 0;
	u64 slots;
	u64 seq;

	if (!ring || !ring->model)
		return;
	for (seq = ring->recorded_seq; seq < end_seq; seq += slots) {
		struct ring_nic_slot slot;

		slots = hwsim_ring_frame(ring, seq, end_seq, &slot);
		if (!slots) {
			lost++;
			slots = 1;
			continue;
		}
		if (!count || slot.pitch_ps != first.pitch_ps ||
		    slot.start_ps != first.start_ps + count * first.pitch_ps) {
			if (count)
				record_alike(nic, first_seq, count, &first);
			first = slot;
			first_seq = seq;
			count = 0;
		}
		count += slot.alike;
	}
	if (lost) {
		hwsim_record_mark(&nic->port, "forgotten", lost);
		if (nic->port.capture)
			hwsim_capture_forgotten(nic->port.capture, lost);
	}
	if (count)
		record_alike(nic, first_seq, count, &first);
	ring->recorded_seq = max(ring->recorded_seq, end_seq);
}

/*
 * Slots that have left until now and are followed by no real frame still on its way; port locked,
 * there is a model
 */
static u64 left_until_now(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;
	u64 local_ps = hwsim_local_now_ps(nic->port.tb);
	struct hwsim_frame *frame;
	u64 end_seq;

	hwsim_ring_advance(nic, local_ps);
	end_seq = hwsim_ring_left(ring, local_ps);
	frame = list_first_entry_or_null(&nic->port.air, struct hwsim_frame, list);
	return frame && frame->life == ring->life ? min(end_seq, frame->seq) : end_seq;
}

/*
 * hwsim_ring_record_now() - what has left until now and is followed by no real frame yet; port
 * locked
 */
void hwsim_ring_record_now(struct hwsim_nic *nic)
{
	if (nic->ring && nic->ring->model)
		hwsim_ring_record(nic, left_until_now(nic));
}

/* The slots of @frame stand in the record. Port locked. */
static void recorded(struct hwsim_nic *nic, const struct hwsim_frame *frame)
{
	if (nic->ring && frame->life == nic->ring->life)
		nic->ring->recorded_seq = max(nic->ring->recorded_seq, frame->seq + frame->slots);
}

/* A record begins; one that ends has everything before. Port locked. */
static void record_from_now(struct hwsim_nic *nic)
{
	struct hwsim_ring *ring = nic->ring;

	if (nic->port.record)
		hwsim_ring_record_now(nic);
	else if (ring && ring->model)
		ring->recorded_seq = max(ring->recorded_seq, left_until_now(nic));
}

/** hwsim_record_frame() - a real frame has left; port locked, it records */
void hwsim_record_frame(struct hwsim_port *port, const struct hwsim_frame *frame)
{
	u64 sfd_ps = frame->start_ps + (u64)HWSIM_PREAMBLE_BYTES * frame->byte_ps;
	struct hwsim_entry *entry;

	if (frame->life) {
		hwsim_ring_record(hwsim_nic_of(port), frame->seq);
		recorded(hwsim_nic_of(port), frame);
	}
	entry = new_entry(port, ENTRY_FRAME);
	entry->seq = frame->seq;
	entry->frame_bytes = frame->frame_bytes;
	entry->verdict = frame->verdict;
	entry->queue = frame->queue;
	set_times(port, entry, sfd_ps);
	entry->head_bytes = min_t(u32, frame->data_bytes, HEAD_BYTES);
	memcpy(entry->head, frame->data, entry->head_bytes);
	if (port->capture)
		hwsim_capture_frame(port->capture, frame, sfd_ps);
}

/** hwsim_record_start() - begin again, keeping the last @entries; may sleep */
int hwsim_record_start(struct hwsim_port *port, u32 entries)
{
	struct hwsim_record *record = vzalloc(struct_size(record, entry, entries));
	struct hwsim_record *old;
	unsigned long flags;

	if (!record)
		return -ENOMEM;
	record->size = entries;
	raw_spin_lock_irqsave(&port->lock, flags);
	record_from_now(hwsim_nic_of(port));
	old = port->record;
	port->record = record;
	raw_spin_unlock_irqrestore(&port->lock, flags);
	vfree(old);
	return 0;
}

/** hwsim_record_stop() - recorded entries are forgotten; may sleep */
void hwsim_record_stop(struct hwsim_port *port)
{
	struct hwsim_record *record;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	record = port->record;
	port->record = NULL;
	raw_spin_unlock_irqrestore(&port->lock, flags);
	vfree(record);
}

/* ---- the file ---- */

/* Copies entry @position of all ever written; false if there is none. The oldest may be gone. */
static bool copy_entry(struct hwsim_port *port, loff_t *position, struct hwsim_entry *copy)
{
	struct hwsim_record *record;
	unsigned long flags;
	bool found = false;
	u64 at = *position;
	u32 slot;

	raw_spin_lock_irqsave(&port->lock, flags);
	record = port->record;
	if (record && at < record->written) {
		if (record->written - at > record->size)
			at = record->written - record->size;
		div_u64_rem(at, record->size, &slot);
		*copy = record->entry[slot];
		found = true;
	}
	raw_spin_unlock_irqrestore(&port->lock, flags);
	*position = at;
	return found;
}

/** struct record_reader - of an open file */
struct record_reader {
	struct hwsim_port *port;
	struct hwsim_entry entry;
};

static void *record_start(struct seq_file *file, loff_t *position)
{
	struct record_reader *reader = file->private;
	unsigned long flags;

	raw_spin_lock_irqsave(&reader->port->lock, flags);
	if (!*position && reader->port->record)
		hwsim_ring_record_now(hwsim_nic_of(reader->port));
	/* what is shown does not grow any more */
	if (reader->port->record)
		reader->port->record->open = NULL;
	raw_spin_unlock_irqrestore(&reader->port->lock, flags);
	return copy_entry(reader->port, position, &reader->entry) ? &reader->entry : NULL;
}

static void *record_next(struct seq_file *file, void *entry, loff_t *position)
{
	struct record_reader *reader = file->private;

	++*position;
	return copy_entry(reader->port, position, &reader->entry) ? &reader->entry : NULL;
}

static void record_stop(struct seq_file *file, void *entry)
{
}

static void show_times(struct seq_file *file, const struct hwsim_entry *entry)
{
	u32 ps;
	u64 raw_ns = hwsim_raw_ns(entry->true_ps, &ps);

	seq_printf(file, " raw_ns=%llu.%03u phc_ns=%lld.%03u bytes=%u", raw_ns, ps, entry->phc.ns,
		   entry->phc.ps, entry->frame_bytes);
}

static int record_show(struct seq_file *file, void *data)
{
	static const char *const verdicts[] = { "good", "torn", "bad_fcs", "lost", "cut" };
	const struct hwsim_entry *entry = data;
	char head[2 * HEAD_BYTES];

	switch (entry->kind) {
	case ENTRY_FRAME:
		seq_printf(file, "frame seq=%llu", entry->seq);
		show_times(file, entry);
		seq_printf(file, " queue=%u verdict=%s head=", entry->queue,
			   verdicts[entry->verdict]);
		bin2hex(head, entry->head, entry->head_bytes);
		seq_write(file, head, 2 * entry->head_bytes);
		seq_putc(file, '\n');
		break;
	case ENTRY_RUN:
		seq_printf(file, "placeholders seq=%llu count=%llu", entry->seq, entry->count);
		show_times(file, entry);
		seq_printf(file, " pitch_ps=%llu\n", entry->pitch_ps);
		break;
	default: seq_printf(file, "%s slots=%llu\n", entry->what, entry->count); break;
	}
	return 0;
}

static const struct seq_operations record_seq = {
	.start = record_start,
	.next = record_next,
	.stop = record_stop,
	.show = record_show,
};

static int record_open(struct inode *inode, struct file *file)
{
	struct record_reader *reader = __seq_open_private(file, &record_seq, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->port = inode->i_private;
	return 0;
}

const struct file_operations hwsim_record_file = {
	.owner = THIS_MODULE,
	.open = record_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = seq_release_private,
};
