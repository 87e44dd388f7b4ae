/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The end of a run. */
#ifndef KPN_STOP_H
#define KPN_STOP_H

#include "kpn_pacer_state.h"

/** kpn_lose() - the NIC is dead: stop at once */
void kpn_lose(struct kpn_pacer *pacer, enum kpn_event event);

/** kpn_poll_stopped() - a poll of a pacer that has stopped. Return: as kpn_pacer_poll() */
bool kpn_poll_stopped(struct kpn_pacer *pacer);

#endif
