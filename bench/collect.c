// SPDX-License-Identifier: BSD-3-Clause
/*
 * Lets a Python program say what callgrind counts: start of valgrind with --instr-atstart=no, each
 * pair of calls writes one file of counts. Loaded by bench_tcp.py.
 */
#include <valgrind/callgrind.h>

void collect_begin(void);
void collect_end(void);

void collect_begin(void)
{
	CALLGRIND_START_INSTRUMENTATION;
}

void collect_end(void)
{
	CALLGRIND_DUMP_STATS;
	CALLGRIND_STOP_INSTRUMENTATION;
}
