/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequence gaps, payload, statistics and arguments. */
#include <string.h>

#include "../cli.h"
#include "../listen_sequence.h"
#include "../payload.h"
#include "../statistics.h"
#include "selftest.h"

static void add_range(struct listen_sequence *sequence, uint64_t from, uint64_t to)
{
	for (uint64_t seq = from; seq < to; seq++)
		listen_sequence_add(sequence, seq);
}

void test_sequence(void)
{
	static struct listen_sequence sequence;

	EXPECT_EQUAL(listen_sequence_lost(&sequence), 0);
	add_range(&sequence, 10, 20);
	add_range(&sequence, 25, 30);
	EXPECT_EQUAL(listen_sequence_lost(&sequence), 5);
	EXPECT_EQUAL(sequence.reordered, 0);
	listen_sequence_add(&sequence, 22);
	listen_sequence_add(&sequence, 22);
	listen_sequence_add(&sequence, 29);
	EXPECT_EQUAL(listen_sequence_lost(&sequence), 4);
	EXPECT_EQUAL(sequence.reordered, 1);
	EXPECT_EQUAL(sequence.duplicates, 2);
	listen_sequence_add(&sequence, 8);
	EXPECT_EQUAL(sequence.lowest, 8);
	EXPECT_EQUAL(listen_sequence_lost(&sequence), 5);
	/*
	 * A jump further than the window forgets all of it, one just inside none that is not
	 * skipped.
	 */
	listen_sequence_add(&sequence, 29 + LISTEN_WINDOW_FRAMES - 1);
	listen_sequence_add(&sequence, 29);
	EXPECT_EQUAL(sequence.duplicates, 3);
	listen_sequence_add(&sequence, 28);
	EXPECT_EQUAL(sequence.beyond_window, 1);
	listen_sequence_add(&sequence, 10 * LISTEN_WINDOW_FRAMES);
	EXPECT_EQUAL(sequence.duplicates, 3);
	listen_sequence_add(&sequence, 10 * LISTEN_WINDOW_FRAMES - 1);
	EXPECT_EQUAL(sequence.reordered, 3);
	EXPECT_EQUAL(sequence.distinct, 10 + 5 + 1 + 1 + 1 + 2);
}

void test_payload(void)
{
	struct kpt_payload written = {
		.clock = 11,
		.flags = KPT_PAYLOAD_HAS_TXTIME,
		.stream_hash = kpt_stream_hash("F2"),
		.seq = UINT64_C(0x0102030405060708),
		.txtime_ns = INT64_C(1800000000123456789),
		.sent_ns = -1,
	};
	static const uint8_t beginning[] = { 'K', 'P', 'N', 'T', 1, 11, 0, 1 };
	uint8_t frame[128] = { 0 };
	struct kpt_payload read;

	/* Reference values of FNV-1a. */
	EXPECT_EQUAL(kpt_stream_hash(""), 0x811c9dc5);
	EXPECT_EQUAL(kpt_stream_hash("a"), 0xe40c292c);
	EXPECT_EQUAL(kpt_payload_find(frame, sizeof(frame), &read), -1);
	kpt_payload_write(frame + 62, &written);
	EXPECT(!memcmp(frame + 62, beginning, sizeof(beginning)));
	EXPECT_EQUAL(frame[62 + 12], 1);
	EXPECT_EQUAL(frame[62 + 19], 8);
	EXPECT_EQUAL(kpt_payload_find(frame, sizeof(frame), &read), 62);
	EXPECT_EQUAL(read.clock, written.clock);
	EXPECT_EQUAL(read.flags, written.flags);
	EXPECT_EQUAL(read.stream_hash, written.stream_hash);
	EXPECT_EQUAL(read.seq, written.seq);
	EXPECT_EQUAL(read.txtime_ns, written.txtime_ns);
	EXPECT_EQUAL(read.sent_ns, written.sent_ns);
	EXPECT_EQUAL(kpt_payload_find(frame, 62 + KPT_PAYLOAD_BYTES, &read), 62);
	EXPECT_EQUAL(kpt_payload_find(frame, 62 + KPT_PAYLOAD_BYTES - 1, &read), -1);
	frame[62 + 4] = KPT_PAYLOAD_VERSION + 1;
	EXPECT_EQUAL(kpt_payload_find(frame, sizeof(frame), &read), -1);
}

void test_statistics(void)
{
	int64_t many[1000];
	int64_t apart[] = { INT64_MAX / 2, INT64_MIN / 2, INT64_MIN / 2 };
	int64_t negative[] = { -5, -2 };
	struct kpt_summary summary = kpt_summarise(many, 0);

	EXPECT_EQUAL(summary.count, 0);
	for (int i = 0; i < 1000; i++)
		many[i] = (i * 7 + 3) % 1000 + 1;
	summary = kpt_summarise(many, 1000);
	EXPECT_EQUAL(summary.count, 1000);
	EXPECT_EQUAL(summary.min, 1);
	EXPECT_EQUAL(summary.p50, 500);
	EXPECT_EQUAL(summary.p99, 990);
	EXPECT_EQUAL(summary.max, 1000);
	EXPECT_EQUAL(summary.mean, 501);
	many[0] = -4;
	summary = kpt_summarise(many, 1);
	EXPECT_EQUAL(summary.min, -4);
	EXPECT_EQUAL(summary.p50, -4);
	EXPECT_EQUAL(summary.p99, -4);
	EXPECT_EQUAL(summary.mean, -4);
	summary = kpt_summarise(negative, 2);
	EXPECT_EQUAL(summary.p50, -5);
	EXPECT_EQUAL(summary.mean, -3);
	summary = kpt_summarise(apart, 3);
	EXPECT_EQUAL(summary.mean, INT64_MIN / 2 + (INT64_MAX / 2 - INT64_MIN / 2) / 3);
}

static int64_t integer(const char *text)
{
	int64_t value = -777;

	return kpt_read_integer(text, &value) ? value : -777;
}

static int64_t time_ns(const char *text)
{
	int64_t value = -777;

	return kpt_read_time(text, &value) ? value : -777;
}

void test_arguments(void)
{
	static const char *const bad_macs[] = { "",
						"03:00:4b:50:4e",
						"03:00:4b:50:4e:1",
						"03-00-4b-50-4e-01",
						"03:00:4b:50:4e:0g",
						"03:00:4b:50:4e:011",
						" 3:00:4b:50:4e:01" };
	static const char *const bad_delays[] = { "",     "17",    "17=",   "=5",
						  "-1=5", "17=-5", "17=5x", "a=5" };
	static const uint8_t expected[KPT_MAC_BYTES] = { 0x03, 0, 0x4b, 0x50, 0x4e, 0xff };
	uint8_t mac[KPT_MAC_BYTES] = { 0 };
	uint64_t seq = 0;
	int64_t delay_ns = 0;

	EXPECT_EQUAL(integer("0"), 0);
	EXPECT_EQUAL(integer("-12"), -12);
	EXPECT_EQUAL(integer("010"), 10);
	EXPECT_EQUAL(integer("0x88b5"), 0x88b5);
	EXPECT_EQUAL(integer("9223372036854775807"), INT64_MAX);
	EXPECT_EQUAL(integer("9223372036854775808"), -777);
	EXPECT_EQUAL(integer(""), -777);
	EXPECT_EQUAL(integer(" 1"), -777);
	EXPECT_EQUAL(integer("+1"), -777);
	EXPECT_EQUAL(integer("1 "), -777);
	EXPECT_EQUAL(integer("0x"), -777);
	EXPECT_EQUAL(integer("1e3"), -777);
	EXPECT_EQUAL(time_ns("100000"), 100000);
	EXPECT_EQUAL(time_ns("5ns"), 5);
	EXPECT_EQUAL(time_ns("200us"), 200000);
	EXPECT_EQUAL(time_ns("3ms"), 3000000);
	EXPECT_EQUAL(time_ns("2s"), INT64_C(2000000000));
	EXPECT_EQUAL(time_ns("9223372037s"), -777);
	EXPECT_EQUAL(time_ns("1.5ms"), -777);
	EXPECT_EQUAL(time_ns("1 ms"), -777);
	EXPECT_EQUAL(time_ns("ms"), -777);
	EXPECT(kpt_read_mac("03:00:4B:50:4e:ff", mac));
	EXPECT(!memcmp(mac, expected, sizeof(mac)));
	for (size_t i = 0; i < sizeof(bad_macs) / sizeof(bad_macs[0]); i++)
		EXPECT(!kpt_read_mac(bad_macs[i], mac));
	EXPECT(!memcmp(mac, expected, sizeof(mac)));
	EXPECT(kpt_read_delay("17=350us", &seq, &delay_ns));
	EXPECT_EQUAL(seq, 17);
	EXPECT_EQUAL(delay_ns, 350000);
	for (size_t i = 0; i < sizeof(bad_delays) / sizeof(bad_delays[0]); i++)
		EXPECT(!kpt_read_delay(bad_delays[i], &seq, &delay_ns));
}
