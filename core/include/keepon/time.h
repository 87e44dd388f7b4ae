/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* An instant, for clocks and frames. */
#ifndef KPN_TIME_H
#define KPN_TIME_H

#include "kpn_platform.h"

/**
 * struct kpn_time - an instant: ns + frac x 2^-32 ns. A type of its own, so that an instant is
 * never mixed with a count
 */
struct kpn_time {
	s64 ns;
	u32 frac;
};

#endif
