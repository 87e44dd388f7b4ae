/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Error numbers of the core, equal to those of Linux; functions return them negated. Outcomes of
 * frames are verdicts (frame.h), not errors.
 */
#ifndef KPN_ERRNO_H
#define KPN_ERRNO_H

enum kpn_errno {
	KPN_ENOMEM = 12,
	KPN_EBUSY = 16,
	KPN_EINVAL = 22,
	KPN_ENOSPC = 28,
	KPN_ERANGE = 34,
	KPN_EAGAIN = 11,
};

#endif
