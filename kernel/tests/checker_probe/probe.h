/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Defects made on purpose, for each checker of the kernels built here. Each function returns after
 * its defect.
 */
#ifndef CHECKER_PROBE_H
#define CHECKER_PROBE_H

/* memory.c */
void probe_use_after_free(void);
void probe_beyond_end(void);
void probe_leak(void);
void probe_free_active_timer(void);
void probe_shift(void);

/* contexts.c */
void probe_raw_nesting(void);
void probe_lock_order(void);
void probe_sleep(void);

/* races.c; each takes a second or more */
void probe_race(void);
void probe_race_with_interrupt(void);
void probe_marked(void);

#endif
