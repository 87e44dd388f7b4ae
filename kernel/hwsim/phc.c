// SPDX-License-Identifier: GPL-2.0-only
/* The PTP hardware clock of a timebase. */
#include <linux/err.h>

#include "clock.h"

static struct hwsim_timebase *timebase_of(struct ptp_clock_info *info)
{
	return container_of(info, struct hwsim_timebase, info);
}

static int phc_gettimex64(struct ptp_clock_info *info, struct timespec64 *ts,
			  struct ptp_system_timestamp *sts)
{
	struct hwsim_timebase *tb = timebase_of(info);
	u64 local_ps;

	ptp_read_system_prets(sts);
	local_ps = hwsim_local_now_ps(tb);
	ptp_read_system_postts(sts);
	*ts = ns_to_timespec64(hwsim_phc_at(tb, local_ps).ns);
	return 0;
}

static int phc_settime64(struct ptp_clock_info *info, const struct timespec64 *ts)
{
	struct hwsim_timebase *tb = timebase_of(info);
	s64 ns = timespec64_to_ns(ts);

	hwsim_phc_step(tb, ns - hwsim_phc_at(tb, hwsim_local_now_ps(tb)).ns);
	return 0;
}

static int phc_adjtime(struct ptp_clock_info *info, s64 delta_ns)
{
	hwsim_phc_step(timebase_of(info), delta_ns);
	return 0;
}

/* scaled_ppm has 2^-16 ppm: 1000 of our units. */
static int phc_adjfine(struct ptp_clock_info *info, long scaled_ppm)
{
	hwsim_phc_set_rate(timebase_of(info), (s64)scaled_ppm * 1000);
	return 0;
}

static int phc_enable(struct ptp_clock_info *info, struct ptp_clock_request *request, int on)
{
	return -EOPNOTSUPP;
}

static const struct ptp_clock_info phc_info = {
	.owner = THIS_MODULE,
	.max_adj = 62499999,
	.gettimex64 = phc_gettimex64,
	.settime64 = phc_settime64,
	.adjtime = phc_adjtime,
	.adjfine = phc_adjfine,
	.enable = phc_enable,
};

/** hwsim_phc_register() - make the PHC of @tb known to the kernel; may sleep */
int hwsim_phc_register(struct hwsim_timebase *tb, const char *name)
{
	struct ptp_clock *ptp;

	tb->info = phc_info;
	strscpy(tb->info.name, name, sizeof(tb->info.name));
	ptp = ptp_clock_register(&tb->info, NULL);
	if (IS_ERR(ptp))
		return PTR_ERR(ptp);
	tb->ptp = ptp;
	return 0;
}
