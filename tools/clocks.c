/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks and signals; see clocks.h. */
#include "clocks.h"

#include <errno.h>
#include <string.h>
#include <sys/timex.h>

#include "cli.h"

static volatile sig_atomic_t stop_signal;
static volatile sig_atomic_t stop_count;

int64_t kpt_now(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		kpt_environment_error("clock %d cannot be read: %s", (int)clock, strerror(errno));
	return now.tv_sec * KPT_SECOND_NS + now.tv_nsec;
}

const char *kpt_clock_name(clockid_t clock)
{
	return clock == CLOCK_TAI ? "tai" : "monotonic";
}

int64_t kpt_clock_offset(clockid_t clock)
{
	struct timex kernel = { .modes = 0 };
	int64_t before, between, after;

	if (clock == CLOCK_TAI) {
		if (adjtimex(&kernel) < 0)
			kpt_environment_error("the kernel's TAI offset cannot be read: %s",
					      strerror(errno));
		return kernel.tai * KPT_SECOND_NS;
	}
	before = kpt_now(clock);
	between = kpt_now(CLOCK_REALTIME);
	after = kpt_now(clock);
	return before + (after - before) / 2 - between;
}

bool kpt_sleep_until(clockid_t clock, int64_t time_ns)
{
	int64_t now_ns = kpt_now(clock);
	int64_t wake_ns = time_ns - now_ns > KPT_NAP_NS ? now_ns + KPT_NAP_NS : time_ns;
	struct timespec wake = { .tv_sec = (time_t)(wake_ns / KPT_SECOND_NS),
				 .tv_nsec = (long)(wake_ns % KPT_SECOND_NS) };
	int error;

	if (now_ns >= time_ns)
		return true;
	error = clock_nanosleep(clock, TIMER_ABSTIME, &wake, NULL);
	if (error && error != EINTR)
		kpt_environment_error("waiting on the %s clock failed: %s", kpt_clock_name(clock),
				      strerror(error));
	return !error && wake_ns == time_ns;
}

static void remember(int number)
{
	stop_signal = number;
	stop_count++;
}

void kpt_catch_signals(void)
{
	struct sigaction action = { .sa_handler = remember };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

int kpt_stopped(void)
{
	return stop_signal;
}

int kpt_stop_count(void)
{
	return stop_count;
}

sigset_t kpt_block_signals(void)
{
	sigset_t ours, before;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, &before);
	sigdelset(&before, SIGINT);
	sigdelset(&before, SIGTERM);
	return before;
}
