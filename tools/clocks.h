/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks in 64-bit nanoseconds, sleeping that a signal can end, and the signals that end a run. */
#ifndef KPT_CLOCKS_H
#define KPT_CLOCKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define KPT_SECOND_NS INT64_C(1000000000)
#define KPT_MILLISECOND_NS INT64_C(1000000)

/* KPT_TIME_MAX_NS - largest time that is accepted, in ns; sums of a few of them fit 63 bits */
#define KPT_TIME_MAX_NS (INT64_MAX / 4)

/** kpt_now() - the clock's time in ns */
int64_t kpt_now(clockid_t clock);

/** kpt_clock_name() - "tai" or "monotonic" */
const char *kpt_clock_name(clockid_t clock);

/**
 * kpt_clock_offset() - what has to be added to a CLOCK_REALTIME reading to get @clock's, in ns
 *
 * Software stamps are CLOCK_REALTIME. For CLOCK_TAI this is the kernel's TAI offset, exact; for
 * CLOCK_MONOTONIC it is measured now, to the duration of reading three clocks.
 */
int64_t kpt_clock_offset(clockid_t clock);

/**
 * kpt_sleep_until() - true when @time_ns is reached; false early, after KPT_NAP_NS at most, or on a
 * signal
 */
bool kpt_sleep_until(clockid_t clock, int64_t time_ns);

/*
 * KPT_NAP_NS - a signal between looking for it and falling asleep is noticed after this at the
 * latest
 */
#define KPT_NAP_NS (50 * KPT_MILLISECOND_NS)

/**
 * kpt_catch_signals() - from now on SIGINT and SIGTERM only end waiting and show in kpt_stopped()
 */
void kpt_catch_signals(void);

/** kpt_stopped() - number of the last signal, 0 while there was none */
int kpt_stopped(void);

/** kpt_stop_count() - how many signals came: the second one means "at once" */
int kpt_stop_count(void);

/** kpt_block_signals() - keep them back except inside ppoll() with the mask returned */
sigset_t kpt_block_signals(void);

#endif
