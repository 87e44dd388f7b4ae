/* SPDX-License-Identifier: GPL-2.0-only */
/* record.c: what the wire saw; capture.c: the same as a network device. */
#ifndef KEEPON_HWSIM_RECORD_H
#define KEEPON_HWSIM_RECORD_H

#include "wire.h"

struct hwsim_nic;

int hwsim_record_start(struct hwsim_port *port, u32 entries);
void hwsim_record_stop(struct hwsim_port *port);
void hwsim_record_frame(struct hwsim_port *port, const struct hwsim_frame *frame);
void hwsim_record_mark(struct hwsim_port *port, const char *what, u64 count);
void hwsim_ring_record(struct hwsim_nic *nic, u64 end_seq);
void hwsim_ring_record_now(struct hwsim_nic *nic);
extern const struct file_operations hwsim_record_file;

/* capture.c, capture_queue.c */

int hwsim_capture_start(struct hwsim_nic *nic, u32 records, const char *name);
void hwsim_capture_stop(struct hwsim_nic *nic);
void hwsim_capture_frame(struct hwsim_capture *capture, const struct hwsim_frame *frame,
			 u64 sfd_ps);
void hwsim_capture_run(struct hwsim_capture *capture, u64 count, u64 sfd_ps, u64 pitch_ps,
		       u32 frame_bytes);
void hwsim_capture_forgotten(struct hwsim_capture *capture, u64 count);

#endif
