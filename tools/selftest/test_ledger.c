/* SPDX-License-Identifier: BSD-3-Clause */
/* No frame is lost silently: submitted = stamped + missed + invalid + refused + unanswered. */
#include <errno.h>

#include "../talk_ledger.h"
#include "selftest.h"

enum { FRAMES = 8, PERIOD_NS = 1000, FIRST_NS = 5000 };

static struct talk_record records[FRAMES];

static struct talk_ledger begin(uint64_t frames)
{
	struct talk_ledger ledger;

	talk_ledger_init(&ledger, records, FRAMES);
	ledger.first_ns = FIRST_NS;
	ledger.period_ns = PERIOD_NS;
	ledger.stream_hash = 77;
	ledger.use_hw = true;
	ledger.want_hw = true;
	for (uint64_t seq = 0; seq < frames; seq++)
		talk_ledger_add(&ledger)->txtime_ns = FIRST_NS + (int64_t)seq * PERIOD_NS;
	return ledger;
}

static void expect_identity(const struct talk_ledger *ledger)
{
	struct talk_counters counters = talk_ledger_count(ledger);

	EXPECT_EQUAL(counters.submitted, ledger->next_seq);
	EXPECT_EQUAL(counters.submitted, counters.stamped + counters.missed + counters.invalid +
						 counters.refused + counters.unanswered);
}

static struct kpt_answer about(uint64_t seq, enum kpt_answer_kind kind)
{
	return (struct kpt_answer){
		.kind = kind,
		.has_payload = true,
		.payload = { .stream_hash = 77, .seq = seq },
		.has_hw = kind == KPT_ANSWER_STAMP,
		.hw_ns = 123,
	};
}

static bool enter(struct talk_ledger *ledger, struct kpt_answer answer)
{
	bool news = talk_ledger_answer(ledger, &answer, 100);

	expect_identity(ledger);
	return news;
}

static void test_every_fate(void)
{
	struct talk_ledger ledger = begin(5);
	struct talk_counters counters;
	int64_t stamp_ns;

	talk_ledger_refuse(&ledger, talk_ledger_add(&ledger), ENOBUFS);
	EXPECT(enter(&ledger, about(0, KPT_ANSWER_STAMP)));
	EXPECT(enter(&ledger, about(1, KPT_ANSWER_MISSED)));
	EXPECT(enter(&ledger, about(2, KPT_ANSWER_INVALID)));
	EXPECT(enter(&ledger, about(3, KPT_ANSWER_MISSED)));
	EXPECT(!talk_ledger_settled(&ledger));
	EXPECT(enter(&ledger, about(3, KPT_ANSWER_STAMP)));
	counters = talk_ledger_count(&ledger);
	EXPECT_EQUAL(counters.stamped, 1);
	EXPECT_EQUAL(counters.missed, 2);
	EXPECT_EQUAL(counters.invalid, 1);
	EXPECT_EQUAL(counters.refused, 1);
	EXPECT_EQUAL(counters.unanswered, 1);
	EXPECT_EQUAL(counters.stamped_and_error, 1);
	EXPECT(talk_ledger_stamp(&ledger, talk_ledger_at(&ledger, 0), &stamp_ns));
	EXPECT_EQUAL(stamp_ns, 123);
	EXPECT(enter(&ledger, about(4, KPT_ANSWER_STAMP)));
	EXPECT(talk_ledger_settled(&ledger));
	/* The queueing discipline refused it and then said why. */
	EXPECT(enter(&ledger, about(5, KPT_ANSWER_INVALID)));
	EXPECT_EQUAL(talk_ledger_count(&ledger).invalid, 2);
	EXPECT_EQUAL(talk_ledger_at(&ledger, 5)->refusal, ENOBUFS);
	EXPECT(talk_ledger_settled(&ledger));
}

static void test_nothing_twice_and_nothing_foreign(void)
{
	struct talk_ledger ledger = begin(2);
	struct kpt_answer foreign = about(0, KPT_ANSWER_STAMP);

	EXPECT(enter(&ledger, about(0, KPT_ANSWER_STAMP)));
	EXPECT(!enter(&ledger, about(0, KPT_ANSWER_STAMP)));
	EXPECT(!enter(&ledger, about(2, KPT_ANSWER_STAMP)));
	foreign.payload.stream_hash = 78;
	EXPECT(!enter(&ledger, foreign));
	EXPECT(!enter(&ledger, about(1, KPT_ANSWER_OTHER)));
	EXPECT_EQUAL(talk_ledger_count(&ledger).stamped, 1);
}

static void test_matching_without_the_frame(void)
{
	struct talk_ledger ledger = begin(4);
	struct kpt_answer stamp = {
		.kind = KPT_ANSWER_STAMP, .key = 3, .has_hw = true, .hw_ns = 9
	};
	struct kpt_answer missed = { .kind = KPT_ANSWER_MISSED, .txtime_ns = FIRST_NS + PERIOD_NS };
	struct kpt_answer crooked = { .kind = KPT_ANSWER_MISSED, .txtime_ns = FIRST_NS + 1 };

	EXPECT(enter(&ledger, stamp));
	EXPECT(talk_ledger_at(&ledger, 3)->has_hw);
	EXPECT(enter(&ledger, missed));
	EXPECT_EQUAL(talk_ledger_at(&ledger, 1)->error, TALK_ERROR_MISSED);
	EXPECT(!enter(&ledger, crooked));
	stamp.key = 4;
	EXPECT(!enter(&ledger, stamp));
	stamp.key = 2;
	ledger.sends_failed = true;
	EXPECT(!enter(&ledger, stamp));
}

static void test_software_stamps_are_moved_into_the_clock(void)
{
	struct talk_ledger ledger = begin(1);
	struct kpt_answer answer = about(0, KPT_ANSWER_STAMP);
	int64_t stamp_ns;

	ledger.use_hw = false;
	ledger.want_sw = true;
	ledger.hw_offset_ns = 1000;
	answer.has_sw = true;
	answer.sw_ns = 50;
	EXPECT(enter(&ledger, answer));
	EXPECT(talk_ledger_stamp(&ledger, talk_ledger_at(&ledger, 0), &stamp_ns));
	EXPECT_EQUAL(stamp_ns, 150);
	EXPECT_EQUAL(talk_ledger_at(&ledger, 0)->hw_ns, 1123);
}

static void test_endless_run_counts_what_it_forgets(void)
{
	struct talk_ledger ledger = begin(0);

	for (uint64_t seq = 0; seq < 3 * FRAMES; seq++) {
		talk_ledger_add(&ledger)->txtime_ns = FIRST_NS + (int64_t)seq * PERIOD_NS;
		if (seq % 3 == 0)
			EXPECT(enter(&ledger, about(seq, KPT_ANSWER_STAMP)));
		else if (seq % 3 == 1)
			EXPECT(enter(&ledger, about(seq, KPT_ANSWER_MISSED)));
		expect_identity(&ledger);
	}
	EXPECT_EQUAL(talk_ledger_count(&ledger).stamped, FRAMES);
	EXPECT_EQUAL(talk_ledger_count(&ledger).missed, FRAMES);
	EXPECT_EQUAL(talk_ledger_count(&ledger).unanswered, FRAMES);
	EXPECT_EQUAL(talk_ledger_oldest(&ledger), 2 * FRAMES);
	EXPECT(!enter(&ledger, about(2 * FRAMES - 1, KPT_ANSWER_STAMP)));
	for (uint64_t seq = 2 * FRAMES; seq < 3 * FRAMES; seq++)
		enter(&ledger, about(seq, KPT_ANSWER_STAMP));
	EXPECT(talk_ledger_settled(&ledger));
}

void test_ledger(void)
{
	test_every_fate();
	test_nothing_twice_and_nothing_foreign();
	test_matching_without_the_frame();
	test_software_stamps_are_moved_into_the_clock();
	test_endless_run_counts_what_it_forgets();
}
