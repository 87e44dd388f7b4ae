// SPDX-License-Identifier: BSD-3-Clause
/*
 * Runs the operation streams of the fuzz target without libFuzzer: `replay SEED COUNT` plays COUNT
 * streams of random bytes and prints one line per stream, its trace hash. Machines of any word size
 * must print the same.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STREAM_BYTES = 2440 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
uint64_t fuzz_pacer_trace_hash(void);

int main(int argc, char **argv)
{
	uint8_t stream[STREAM_BYTES];
	uint64_t random;
	unsigned long count;

	if (argc != 3) {
		fprintf(stderr, "replay: %d arguments given; name a seed and a count of streams\n",
			argc - 1);
		return 2;
	}
	random = strtoull(argv[1], NULL, 10) * 2 + 1;
	for (count = strtoul(argv[2], NULL, 10); count; count--) {
		int i;

		for (i = 0; i < STREAM_BYTES; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			stream[i] = (uint8_t)(random >> 32);
		}
		LLVMFuzzerTestOneInput(stream, STREAM_BYTES);
		printf("%016" PRIx64 "\n", fuzz_pacer_trace_hash());
	}
	return 0;
}
