/* SPDX-License-Identifier: GPL-2.0-only */
/* capture.c, capture_queue.c: the capture device of a NIC, and what waits to be shown on it. */
#ifndef KEEPON_HWSIM_CAPTURE_H
#define KEEPON_HWSIM_CAPTURE_H

#include "nic.h"
#include "record.h"

enum {
	HWSIM_CAPTURE_FRAMES_MAX = 16384,
	HWSIM_CAPTURE_STORE_BYTES = 4 << 20, /* more than 10 Gb/s carry in a tick */
	HWSIM_CAPTURE_REAL = KPN_PLACEHOLDER_COUNT,
};

/**
 * struct hwsim_capture_entry - one real frame, or placeholders back to back
 * @count: of them, still to be delivered
 * @sfd_ps: local time of the first one's reference plane
 * @pitch_ps: from one to the next, local
 * @data_at: where the bytes of the frame, without FCS, begin in the store, counted without wrapping
 * @fcs_error: by which bits its FCS is wrong
 * @frame_bytes: with FCS
 * @kind: enum kpn_placeholder; HWSIM_CAPTURE_REAL: the frame
 */
struct hwsim_capture_entry {
	u64 count;
	u64 sfd_ps;
	u64 pitch_ps;
	u64 data_at;
	u32 fcs_error;
	u32 frame_bytes;
	u8 kind;
};

/**
 * struct hwsim_capture - private area of a capture device
 * @dev: the device
 * @nic: whose wire it shows
 * @name: given by the control file
 * @napi: delivers the queue
 * @timer: looks at the ring, whose placeholders are no events, and has the queue delivered
 * @queue: in the order of the wire; port lock
 * @first: of @queue, numbered without wrapping
 * @end: of @queue
 * @store: bytes of the frames in it; port lock
 * @store_first: of @store, numbered without wrapping
 * @store_end: of @store
 * @queued: frames in it; port lock
 * @room: frames that fit into it
 * @placeholder: the last one delivered, with FCS
 * @placeholder_bytes: its length
 * @placeholder_kind: its kind
 * @hwtstamp: whether the PHC's stamps are wanted too
 * @rx_packets: given to the stack
 * @rx_bytes: of these
 * @missed: did not fit into the queue, or found no memory, or was forgotten by the ring
 * @tx_dropped: sent on the device
 */
struct hwsim_capture {
	struct net_device *dev;
	struct hwsim_nic *nic;
	char name[IFNAMSIZ];
	struct napi_struct napi;
	struct hrtimer timer;
	struct hwsim_capture_entry *queue;
	u64 first;
	u64 end;
	u8 *store;
	u64 store_first;
	u64 store_end;
	u32 queued;
	u32 room;
	u32 placeholder_bytes;
	u8 placeholder_kind;
	u8 placeholder[HWSIM_FRAME_BYTES_MAX];
	struct keepon_hwtstamp hwtstamp;
	atomic64_t rx_packets;
	atomic64_t rx_bytes;
	atomic64_t missed;
	atomic64_t tx_dropped;
};

/** hwsim_capture_data() - the bytes of a real frame, without FCS */
static inline const u8 *hwsim_capture_data(const struct hwsim_capture *capture,
					   const struct hwsim_capture_entry *entry)
{
	return capture->store + entry->data_at % HWSIM_CAPTURE_STORE_BYTES;
}

int hwsim_capture_queue_create(struct hwsim_capture *capture);
void hwsim_capture_queue_free(struct hwsim_capture *capture);
bool hwsim_capture_look(struct hwsim_capture *capture, struct hwsim_capture_entry *next);
void hwsim_capture_done(struct hwsim_capture *capture, const struct hwsim_capture_entry *shown);

#endif
