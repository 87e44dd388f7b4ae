/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * native_probe.ko: an owner of a ring (owner.c), for a while (main.c) or while it is loaded
 * (hold.c).
 */
#ifndef NATIVE_PROBE_H
#define NATIVE_PROBE_H

#include <linux/mutex.h>

#include "keepon_native.h"

enum {
	PROBE_RING_SLOTS = 256,
	PROBE_SLOT_BYTES = 1230,
	PROBE_DATA_BYTES = 200,
	PROBE_POLL_US = 50,
};

/**
 * struct probe - the ring and how far it is served
 * @dev: the NIC
 * @driver: who lends its ring; held
 * @native: the claimed ring
 * @modulus: of the index
 * @head: slots the index has passed
 * @tail: slots posted
 * @retired: slots made placeholders again
 * @next: next slot to become real
 * @frames: made so far
 * @tear: change the third frame after its commit
 * @unwritten: bytes at the end of each frame that are not written back
 * @placeholder: enum kpn_placeholder
 */
struct probe {
	struct net_device *dev;
	struct keepon_native_driver *driver;
	struct keepon_native native;
	u32 modulus;
	u64 head;
	u64 tail;
	u64 retired;
	u64 next;
	u32 frames;
	bool tear;
	u32 unwritten;
	u8 placeholder;
};

int probe_query(struct probe *p);
int probe_claim(struct probe *p);
void probe_begin(struct probe *p);
bool probe_serve(struct probe *p);
void probe_write_late(struct probe *p);
void probe_wipe(struct probe *p);

int hold_begin(struct probe *p);
void hold_end(struct probe *p);

#endif
