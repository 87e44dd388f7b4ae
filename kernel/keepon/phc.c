// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PTP hardware clock as the kernel knows it: /dev/ptpN for phc2sys, ptp4l, clock_gettime()
 * (B13).
 */
#include <linux/module.h>
#include <linux/ptp_clock_kernel.h>

#include "keepon.h"

static struct keepon *keepon_of(struct ptp_clock_info *info)
{
	return container_of(info, struct keepon, phc_info);
}

static int phc_gettimex64(struct ptp_clock_info *info, struct timespec64 *ts,
			  struct ptp_system_timestamp *sts)
{
	struct keepon *keepon = keepon_of(info);
	unsigned long flags;
	struct kpn_time now;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	ptp_read_system_prets(sts);
	now = keepon_clock_read_locked(keepon);
	ptp_read_system_postts(sts);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	*ts = ns_to_timespec64(ktime_to_ns(keepon_stamp(now)));
	return 0;
}

static int phc_settime64(struct ptp_clock_info *info, const struct timespec64 *ts)
{
	struct keepon *keepon = keepon_of(info);
	unsigned long flags;
	int error;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	error = keepon_clock_settime_locked(keepon, (struct kpn_time){ timespec64_to_ns(ts), 0 });
	if (!error)
		keepon_taprio_stepped_locked(keepon);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return error;
}

static int phc_adjtime(struct ptp_clock_info *info, s64 delta_ns)
{
	struct keepon *keepon = keepon_of(info);
	unsigned long flags;
	int error;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	error = keepon_clock_adjtime_locked(keepon, delta_ns);
	if (!error)
		keepon_taprio_stepped_locked(keepon);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return error;
}

static int phc_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	struct keepon *keepon = keepon_of(info);
	unsigned long flags;
	int error;

	raw_spin_lock_irqsave(&keepon->lock, flags);
	error = keepon_clock_adjfine_locked(keepon, scaled_ppm);
	raw_spin_unlock_irqrestore(&keepon->lock, flags);
	return error;
}

/*
 * No pins, alarms or pulses. PTP_ENABLE_PPS calls this all the same; older kernels do not check the
 * pointer first.
 */
static int phc_enable(struct ptp_clock_info *info, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

int keepon_phc_register(struct keepon *keepon)
{
	struct ptp_clock *phc;

	keepon->phc_info = (struct ptp_clock_info){
		.owner = THIS_MODULE,
		.max_adj = KPN_ADJ_PPB_MAX,
		.gettimex64 = phc_gettimex64,
		.settime64 = phc_settime64,
		.adjtime = phc_adjtime,
		.adjfine = phc_adjfine,
		.enable = phc_enable,
	};
	snprintf(keepon->phc_info.name, sizeof(keepon->phc_info.name), "keepon %s",
		 keepon->dev->name);
	phc = ptp_clock_register(&keepon->phc_info, NULL);
	if (IS_ERR(phc))
		return PTR_ERR(phc);
	/* NULL without PTP support in the kernel: everything else works. */
	keepon->phc = phc;
	return 0;
}

void keepon_phc_unregister(struct keepon *keepon)
{
	if (keepon->phc)
		ptp_clock_unregister(keepon->phc);
	keepon->phc = NULL;
}
