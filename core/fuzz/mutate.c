// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Mutations that know the form of an input (setup.h): a byte of the setup, a field of a record,
 * records that are inserted, taken away, copied or repeated; now and then all of it again, as long
 * as it may be, so that streams are deep from the beginning.
 */
#include <stdlib.h>

#include "setup.h"

enum {
	ROUNDS_MAX = 8,
	BLOCK_RECORDS_MAX = 200,
	ANEW = 16, /* 1 in this many */
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);

static u32 below(u64 *random, size_t limit)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return limit ? (u32)((*random >> 32) % limit) : 0;
}

static void fill(u64 *random, u8 *data, size_t bytes)
{
	while (bytes--)
		*data++ = (u8)below(random, 256);
}

/* Room for @count records before record @at. Return: how many there was room for. */
static size_t open_gap(u8 *records, size_t *held, size_t most, size_t at, size_t count)
{
	if (count > most - *held)
		count = most - *held;
	memmove(records + (at + count) * RECORD_BYTES, records + at * RECORD_BYTES,
		(*held - at) * RECORD_BYTES);
	*held += count;
	return count;
}

static void remove_some(u64 *random, u8 *records, size_t *held)
{
	size_t at = below(random, *held);
	size_t count = 1 + below(random, below(random, 2) ? 4 : BLOCK_RECORDS_MAX);

	if (count > *held - at)
		count = *held - at;
	memmove(records + at * RECORD_BYTES, records + (at + count) * RECORD_BYTES,
		(*held - at - count) * RECORD_BYTES);
	*held -= count;
}

/* A block a second time, here or elsewhere, or one record again and again. */
static void repeat(u64 *random, u8 *records, size_t *held, size_t most)
{
	static u8 block[BLOCK_RECORDS_MAX * RECORD_BYTES];
	size_t from = below(random, *held);
	size_t count = 1 + below(random, BLOCK_RECORDS_MAX);
	size_t at = below(random, *held + 1);
	bool same = below(random, 4) == 0;
	size_t i;

	if (count > *held - from && !same)
		count = *held - from;
	for (i = 0; i < count; i++)
		memcpy(block + i * RECORD_BYTES, records + (from + (same ? 0 : i)) * RECORD_BYTES,
		       RECORD_BYTES);
	count = open_gap(records, held, most, at, count);
	memcpy(records + at * RECORD_BYTES, block, count * RECORD_BYTES);
}

static void change_one(u64 *random, u8 *data, size_t bytes)
{
	size_t at = below(random, bytes);

	switch (below(random, 3)) {
	case 0: data[at] = (u8)below(random, 256); break;
	case 1: data[at] ^= (u8)(1u << below(random, 8)); break;
	default: data[at] += below(random, 2) ? 1 : 255; break;
	}
}

static void mutate(u64 *random, u8 *data, size_t *held, size_t most)
{
	u8 *records = data + SETUP_BYTES;
	size_t count;
	size_t at;

	switch (*held ? below(random, 8) : 0) {
	case 0:
		at = below(random, *held + 1);
		count = open_gap(records, held, most, at, 1 + below(random, BLOCK_RECORDS_MAX));
		fill(random, records + at * RECORD_BYTES, count * RECORD_BYTES);
		break;
	case 1: remove_some(random, records, held); break;
	case 2: repeat(random, records, held, most); break;
	case 3: change_one(random, data, SETUP_BYTES); break;
	default: change_one(random, records, *held * RECORD_BYTES); break;
	}
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	u64 random = (u64)seed * 2654435761u + 0x9e3779b97f4a7c15ull;
	size_t most = size_max < SETUP_BYTES ? 0 : (size_max - SETUP_BYTES) / RECORD_BYTES;
	size_t held = size < SETUP_BYTES ? 0 : (size - SETUP_BYTES) / RECORD_BYTES;
	u32 rounds = 1 + below(&random, ROUNDS_MAX);

	if (!most)
		return size;
	if (held > most)
		held = most;
	if (size < SETUP_BYTES || !below(&random, ANEW)) {
		held = most - below(&random, most / 2);
		fill(&random, data, SETUP_BYTES + held * RECORD_BYTES);
	}
	while (rounds--)
		mutate(&random, data, &held, most);
	return SETUP_BYTES + held * RECORD_BYTES;
}

/* Streams of operations are only worth anything when long, so inputs need not grow slowly. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char option[] = "-len_control=0";
	char **longer = calloc((size_t)*argc + 2, sizeof(*longer));

	if (!longer)
		abort();
	memcpy(longer, *argv, (size_t)*argc * sizeof(*longer));
	longer[(*argc)++] = option;
	*argv = longer;
	return 0;
}
