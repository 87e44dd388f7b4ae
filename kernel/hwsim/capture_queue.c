// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a capture device has still to show: entries of the wire record, and the bytes of its frames,
 * in rings of their own. They are filled with the port locked, in hard interrupt context too:
 * nothing is allocated then.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "capture.h"

/** hwsim_capture_queue_create() - -ENOMEM; may sleep */
int hwsim_capture_queue_create(struct hwsim_capture *capture)
{
	capture->queue = kvcalloc(HWSIM_CAPTURE_FRAMES_MAX, sizeof(*capture->queue), GFP_KERNEL);
	capture->store = kvmalloc(HWSIM_CAPTURE_STORE_BYTES, GFP_KERNEL);
	if (capture->queue && capture->store)
		return 0;
	hwsim_capture_queue_free(capture);
	return -ENOMEM;
}

/** hwsim_capture_queue_free() - nothing is recorded for it any more; may sleep */
void hwsim_capture_queue_free(struct hwsim_capture *capture)
{
	kvfree(capture->queue);
	kvfree(capture->store);
	capture->queue = NULL;
	capture->store = NULL;
	capture->first = capture->end;
	capture->store_first = capture->store_end;
	capture->queued = 0;
}

/* Every entry is a frame at least, and no more frames are queued than there are entries. */
static struct hwsim_capture_entry *new_entry(struct hwsim_capture *capture, u64 count)
{
	u32 room = READ_ONCE(capture->room);
	u64 fits = min_t(u64, count, room - min(room, capture->queued));
	struct hwsim_capture_entry *entry;

	atomic64_add(count - fits, &capture->missed);
	if (!fits)
		return NULL;
	entry = &capture->queue[capture->end++ % HWSIM_CAPTURE_FRAMES_MAX];
	entry->count = fits;
	capture->queued += (u32)fits;
	return entry;
}

/* A frame lies in one piece: at the end of the store some bytes may be left out. */
static bool find_room(struct hwsim_capture *capture, u32 bytes)
{
	u32 behind =
		HWSIM_CAPTURE_STORE_BYTES - (u32)(capture->store_end % HWSIM_CAPTURE_STORE_BYTES);
	u32 left_out = behind < bytes ? behind : 0;

	if (capture->store_end + left_out + bytes - capture->store_first >
	    HWSIM_CAPTURE_STORE_BYTES)
		return false;
	capture->store_end += left_out;
	return true;
}

/** hwsim_capture_frame() - a real frame has left, its reference plane at local time @sfd_ps */
void hwsim_capture_frame(struct hwsim_capture *capture, const struct hwsim_frame *frame, u64 sfd_ps)
{
	struct hwsim_capture_entry *entry;

	if (!find_room(capture, frame->data_bytes)) {
		atomic64_inc(&capture->missed);
		return;
	}
	entry = new_entry(capture, 1);
	if (!entry)
		return;
	memcpy(capture->store + capture->store_end % HWSIM_CAPTURE_STORE_BYTES, frame->data,
	       frame->data_bytes);
	entry->data_at = capture->store_end;
	capture->store_end += frame->data_bytes;
	entry->fcs_error = frame->fcs_error;
	entry->frame_bytes = frame->frame_bytes;
	entry->kind = HWSIM_CAPTURE_REAL;
	entry->sfd_ps = sfd_ps;
}

/*
 * hwsim_capture_run() - @count placeholders have left, the first one's reference plane at local
 * time @sfd_ps
 */
void hwsim_capture_run(struct hwsim_capture *capture, u64 count, u64 sfd_ps, u64 pitch_ps,
		       u32 frame_bytes)
{
	struct hwsim_capture_entry *entry = new_entry(capture, count);

	if (!entry)
		return;
	entry->sfd_ps = sfd_ps;
	entry->pitch_ps = pitch_ps;
	entry->frame_bytes = frame_bytes;
	entry->kind = capture->nic->port.placeholder_kind;
}

/** hwsim_capture_forgotten() - @count slots passed of which the ring knows nothing any more */
void hwsim_capture_forgotten(struct hwsim_capture *capture, u64 count)
{
	atomic64_add(count, &capture->missed);
}

/*
 * hwsim_capture_look() - the next frame of the queue, as an entry of its own
 * @capture: the device, up
 * @next: filled; what it stands on stays until hwsim_capture_done()
 *
 * Return: false if there is none.
 */
bool hwsim_capture_look(struct hwsim_capture *capture, struct hwsim_capture_entry *next)
{
	struct hwsim_port *port = &capture->nic->port;
	unsigned long flags;
	bool found;

	raw_spin_lock_irqsave(&port->lock, flags);
	found = capture->first < capture->end;
	if (found)
		*next = capture->queue[capture->first % HWSIM_CAPTURE_FRAMES_MAX];
	raw_spin_unlock_irqrestore(&port->lock, flags);
	return found;
}

/** hwsim_capture_done() - the frame of the last look is shown, or nobody had memory for it */
void hwsim_capture_done(struct hwsim_capture *capture, const struct hwsim_capture_entry *shown)
{
	struct hwsim_port *port = &capture->nic->port;
	struct hwsim_capture_entry *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	entry = &capture->queue[capture->first % HWSIM_CAPTURE_FRAMES_MAX];
	capture->queued--;
	entry->sfd_ps += entry->pitch_ps;
	if (!--entry->count)
		capture->first++;
	if (shown->kind == HWSIM_CAPTURE_REAL)
		capture->store_first = shown->data_at + shown->frame_bytes - HWSIM_FCS_BYTES;
	raw_spin_unlock_irqrestore(&port->lock, flags);
}
