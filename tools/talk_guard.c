/* SPDX-License-Identifier: BSD-3-Clause */
/* No frame leaves before the clocks agree; see talk.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/ptp_clock.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clocks.h"
#include "talk.h"

enum { GUARD_READINGS = 9 };

#define GUARD_NAP_NS (20 * KPT_MILLISECOND_NS)

static int open_phc(const char *name)
{
	struct ethtool_ts_info info = { .cmd = ETHTOOL_GET_TS_INFO, .phc_index = -1 };
	struct ifreq request = { .ifr_data = (char *)&info };
	int channel = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char path[32];
	int fd;

	memcpy(request.ifr_name, name, strlen(name) + 1);
	if (channel < 0 || ioctl(channel, SIOCETHTOOL, &request) || info.phc_index < 0)
		kpt_environment_error(
			"interface %s has no clock of its own (ethtool -T %s); drop --clock-limit",
			name, name);
	close(channel);
	snprintf(path, sizeof(path), "/dev/ptp%d", info.phc_index);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		kpt_environment_error("%s, the clock of %s, cannot be opened: %s", path, name,
				      strerror(errno));
	return fd;
}

static int64_t in_ns(const struct ptp_clock_time *time)
{
	return time->sec * KPT_SECOND_NS + time->nsec;
}

/* The PHC less CLOCK_REALTIME, by the reading that took least. */
static int64_t ahead_ns(int fd)
{
	struct ptp_sys_offset_extended readings = { .n_samples = GUARD_READINGS };
	int64_t least_ns = INT64_MAX, found_ns = 0;

	if (ioctl(fd, PTP_SYS_OFFSET_EXTENDED, &readings))
		kpt_environment_error("the clock cannot be compared with the system's: %s",
				      strerror(errno));
	for (unsigned int i = 0; i < readings.n_samples; i++) {
		int64_t before_ns = in_ns(&readings.ts[i][0]);
		int64_t took_ns = in_ns(&readings.ts[i][2]) - before_ns;

		if (took_ns < least_ns) {
			least_ns = took_ns;
			found_ns = in_ns(&readings.ts[i][1]) - before_ns - took_ns / 2;
		}
	}
	return found_ns;
}

void talk_guard(const struct talk_options *options, const struct kpt_interface *interface)
{
	int64_t begun_ns = kpt_now(CLOCK_MONOTONIC);
	int64_t apart_ns;
	int fd;

	if (!options->clock_limit_ns)
		return;
	fd = open_phc(interface->name);
	for (;;) {
		int64_t now_ns = kpt_now(CLOCK_MONOTONIC);

		apart_ns =
			ahead_ns(fd) + options->stamp_offset_ns - kpt_clock_offset(options->clock);
		if (llabs(apart_ns) <= options->clock_limit_ns)
			break;
		if (now_ns - begun_ns >= options->clock_wait_ns)
			kpt_environment_error(
				"the clock of %s is %" PRId64
				" ns %s the %s clock, more than --clock-limit %" PRId64
				" ns; synchronise them, or give --clock-wait",
				interface->name, (int64_t)llabs(apart_ns),
				apart_ns > 0 ? "ahead of" : "behind",
				kpt_clock_name(options->clock), options->clock_limit_ns);
		kpt_sleep_until(CLOCK_MONOTONIC, now_ns + GUARD_NAP_NS);
	}
	close(fd);
}
