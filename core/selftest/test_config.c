/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * config: every rule has vectors on both sides of its boundary; each refusal names the field, its
 * value and a range whose ends are accepted when put in its place.
 */
#include "config_vectors.h"

#include "keepon/wire.h"

#include "limited_backend.h"
#include "selftest.h"

static void fill_masks(void)
{
	u32 i;

	for (i = 0; i < KPN_PARTITION_SLOTS_MAX; i++) {
		masks_reserved[i] = i ? 0xffff : 0;
		masks_open[i] = 0xffff;
	}
}

static void build(struct kpn_config *config, enum base base)
{
	u32 tc;

	kpn_config_defaults(config, &backend, 1000000000, 1230);
	config->trim_down_bytes = 16; /* which the vectors count with */
	config->trim_up_bytes = 16;
	switch (base) {
	case LOCKED:
		/* wide enough for every period a vector may set */
		config->allowed = masks_open;
		break;
	case RESERVED:
		config->trim = KPN_TRIM_RESERVED;
		config->allowed = masks_reserved;
		config->partition_slots = 8;
		break;
	case PAPER:
		config->mode = KPN_MODE_PAPER;
		config->clock_read = KPN_CLOCK_COUNTER;
		config->allowed = masks_open;
		config->partition_slots = config->ring_slots;
		config->depth_slots = config->batch_slots;
		for (tc = 0; tc < KPN_CLASS_COUNT; tc++)
			config->classes[tc].rounding = KPN_ROUND_FLOOR;
		break;
	case NO_MASKS: config->allowed = NULL; break;
	}
}

static void put(void *object, u32 offset, u32 bytes, u64 value)
{
	char *member = (char *)object + offset;
	u32 value_u32 = (u32)value;
	u8 value_u8 = (u8)value;

	if (bytes == sizeof(value))
		memcpy(member, &value, sizeof(value));
	else if (bytes == sizeof(value_u32))
		memcpy(member, &value_u32, sizeof(value_u32));
	else if (bytes == sizeof(value_u8))
		memcpy(member, &value_u8, sizeof(value_u8));
}

/* struct field - where a named field is; in the order in which problems are to be listed */
struct field {
	u16 offset;
	u16 bytes;
	const char *name;
};

#define FIELD(member)                                                          \
	{                                                                      \
		(u16) offsetof(struct kpn_config, member),                     \
			(u16)sizeof(((struct kpn_config *)0)->member), #member \
	}
#define CLASS_FIELDS(tc) FIELD(classes[tc].late), FIELD(classes[tc].rounding)

static const struct field fields[] = {
	FIELD(rate_bps),
	FIELD(slot_bytes),
	FIELD(ring_slots),
	FIELD(partition_slots),
	{ 0, 0, "allowed" },
	FIELD(batch_slots),
	FIELD(depth_slots),
	FIELD(trim_down_bytes),
	FIELD(trim_up_bytes),
	FIELD(frame_bytes_max),
	FIELD(prebuffer_frames),
	FIELD(budget_frames),
	FIELD(horizon_ns),
	FIELD(tolerance_ns),
	FIELD(drift_ppb_max),
	FIELD(wander_ppb_per_s_max),
	FIELD(poll_overhead_ns),
	FIELD(mode),
	FIELD(clock_read),
	FIELD(placeholder),
	FIELD(trim),
	FIELD(padding),
	CLASS_FIELDS(0),
	CLASS_FIELDS(1),
	CLASS_FIELDS(2),
	CLASS_FIELDS(3),
	CLASS_FIELDS(4),
	CLASS_FIELDS(5),
	CLASS_FIELDS(6),
	CLASS_FIELDS(7),
	CLASS_FIELDS(8),
	CLASS_FIELDS(9),
	CLASS_FIELDS(10),
	CLASS_FIELDS(11),
	CLASS_FIELDS(12),
	CLASS_FIELDS(13),
	CLASS_FIELDS(14),
	CLASS_FIELDS(15),
};

/* Position in @fields, or their number if there is no such field. */
static u32 field_position(const char *name)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(fields); i++) {
		if (strcmp(fields[i].name, name) == 0)
			break;
	}
	return i;
}

static bool has_problem(const struct kpn_config *config, const struct kpn_nic_caps *caps,
			const char *name)
{
	static struct kpn_problem problems[PROBLEMS_MAX]; /* too large for a kernel stack */
	u32 count = kpn_config_validate(config, caps, problems, PROBLEMS_MAX);
	u32 i;

	for (i = 0; i < count; i++) {
		if (strcmp(problems[i].field, name) == 0)
			return true;
	}
	return false;
}

/*
 * A sentence for an engineer: text, a remedy after a semicolon, and no numbers, which the range
 * gives.
 */
static bool reason_is_sentence(const char *reason)
{
	u32 semicolons = 0;
	u32 i;

	for (i = 0; reason[i]; i++) {
		if (reason[i] >= '0' && reason[i] <= '9')
			return false;
		semicolons += reason[i] == ';';
	}
	return i >= 30 && semicolons == 1 && reason[i - 1] != '.';
}

/*
 * The ends of the range a problem states are right values of that field, the others being as they
 * are.
 */
static void expect_honest_range(struct kpn_selftest *t, int line, const struct kpn_config *config,
				const struct kpn_nic_caps *caps, const struct kpn_problem *problem)
{
	const struct field *field = &fields[field_position(problem->field)];
	struct kpn_config changed = *config;

	if (!field->bytes)
		return;
	KPN_EXPECT_AT(t, line, problem->min <= problem->max);
	put(&changed, field->offset, field->bytes, problem->min);
	KPN_EXPECT_AT(t, line, !has_problem(&changed, caps, problem->field));
	put(&changed, field->offset, field->bytes, problem->max);
	KPN_EXPECT_AT(t, line, !has_problem(&changed, caps, problem->field));
}

static void test_vector(struct kpn_selftest *t, const struct vector *vector)
{
	struct kpn_problem problems[2] = { { 0 } };
	struct kpn_nic_caps caps = backend;
	struct kpn_config config;
	u32 i;

	build(&config, vector->base);
	for (i = 0; i < CHANGES_MAX; i++) {
		const struct change *change = &vector->changes[i];

		if (change->caps)
			put(&caps, change->offset, change->bytes, change->value);
		else
			put(&config, change->offset, change->bytes, change->value);
	}
	if (!KPN_EXPECT_EQ_AT(t, vector->line, kpn_config_validate(&config, &caps, problems, 2),
			      vector->field ? 1 : 0)) {
		/* show which field it was instead */
		if (problems[0].field)
			KPN_EXPECT_TEXT_AT(t, vector->line, problems[0].field,
					   vector->field ? vector->field : "(valid)");
		return;
	}
	if (!vector->field)
		return;
	KPN_EXPECT_TEXT_AT(t, vector->line, problems[0].field, vector->field);
	KPN_EXPECT_EQ_AT(t, vector->line, problems[0].value, vector->value);
	KPN_EXPECT_EQ_AT(t, vector->line, problems[0].min, vector->min);
	KPN_EXPECT_EQ_AT(t, vector->line, problems[0].max, vector->max);
	KPN_EXPECT_AT(t, vector->line, reason_is_sentence(problems[0].reason));
	expect_honest_range(t, vector->line, &config, &caps, &problems[0]);
}

/* Everything wrong at once: each field once, in order, however little room there is. */
static void test_all_wrong(struct kpn_selftest *t)
{
	static struct kpn_problem problems[PROBLEMS_MAX]; /* too large for a kernel stack */
	struct kpn_problem untouched;
	struct kpn_config config;
	u32 count;
	u32 room;
	u32 i;

	memset(&config, 0xff, sizeof(config));
	config.dither = true;
	config.allowed = NULL;
	memset(&untouched, 0x5a, sizeof(untouched));
	count = kpn_config_validate(&config, &backend, NULL, 0);
	/*
	 * 32 class fields and 21 more but for trims, tolerance and poll overhead, which rest on
	 * others
	 */
	KPN_EXPECT_EQ(t, count, 49);
	for (room = 0; room <= count; room++) {
		for (i = 0; i < PROBLEMS_MAX; i++)
			problems[i] = untouched;
		KPN_EXPECT_EQ(t, kpn_config_validate(&config, &backend, problems, room), count);
		for (i = 0; i < PROBLEMS_MAX; i++) {
			if (i >= room) {
				KPN_EXPECT(t, memcmp(&problems[i], &untouched, sizeof(untouched)) ==
						      0);
				continue;
			}
			KPN_EXPECT(t, reason_is_sentence(problems[i].reason));
			KPN_EXPECT(t, field_position(problems[i].field) < KPN_COUNT_OF(fields));
			if (i)
				KPN_EXPECT(t, field_position(problems[i - 1].field) <
						      field_position(problems[i].field));
		}
	}
}

/* One that is found late stands where its field does, however little room there is. */
static void test_polls_in_field_order(struct kpn_selftest *t)
{
	static const char *const wanted[] = { "batch_slots", "budget_frames", "tolerance_ns" };
	struct kpn_nic_caps caps = backend;
	struct kpn_problem problems[3];
	struct kpn_config config;
	u32 room;
	u32 i;

	build(&config, LOCKED);
	config.budget_frames = 3;
	config.tolerance_ns = 10001;
	caps.poll_ns_min = 80001;
	for (room = 0; room <= KPN_COUNT_OF(wanted); room++) {
		memset(problems, 0, sizeof(problems));
		KPN_EXPECT_EQ(t, kpn_config_validate(&config, &caps, problems, room), 3);
		for (i = 0; i < room; i++)
			KPN_EXPECT_TEXT(t, problems[i].field, wanted[i]);
		for (; i < KPN_COUNT_OF(wanted); i++)
			KPN_EXPECT(t, !problems[i].field);
	}
	/* where nothing would do, the longest slots are all that can be said */
	build(&config, LOCKED);
	caps.poll_ns_min = 20000000;
	KPN_EXPECT_EQ(t, kpn_config_validate(&config, &caps, problems, 1), 1);
	KPN_EXPECT_TEXT(t, problems[0].field, "slot_bytes");
	KPN_EXPECT_EQ(t, problems[0].min, 1522);
	KPN_EXPECT_EQ(t, problems[0].max, 1522);
}

/*
 * Slots of 1230 bytes, trimmed by up to 16: what is longer than 1214 takes two, if it is allowed.
 */
static void test_longest_frames(struct kpn_selftest *t)
{
	static const u32 longest[] = { 1214, 1215, 1225, 1230, 1231 };
	struct kpn_nic_caps caps = backend;
	struct kpn_config config;
	u32 i;

	build(&config, LOCKED);
	for (i = 0; i < KPN_COUNT_OF(longest); i++) {
		config.frame_bytes_max = longest[i];
		KPN_EXPECT_EQ(t, kpn_config_validate(&config, &caps, NULL, 0), 0);
		KPN_EXPECT_EQ(t, kpn_config_frame_bytes_max(&config, &caps, 2), longest[i]);
		KPN_EXPECT_EQ(t, kpn_config_frame_bytes_max(&config, &caps, 1), 1214);
	}
	/* of two slots of 730 bytes 80 would be padding, up to 1480 bytes and a byte of trim */
	config.slot_bytes = 730;
	caps.fragments_max = 4;
	for (i = 1400; i <= 1522; i++) {
		caps.frame_bytes_max = i;
		config.frame_bytes_max = 1400;
		KPN_EXPECT_EQ(t, kpn_config_frame_slots(&config, &caps, 1400), i < 1481 ? 3 : 2);
	}
}

/*
 * Random values in all fields: problems in order, one a field, each value outside its range or off
 * its granularity.
 */
static void test_random_configs(struct kpn_selftest *t)
{
	static const u64 rates[] = { 10000000,        1000000000, 2500000000ull,
				     100000000000ull, 999999999,  5 };
	static struct kpn_problem problems[PROBLEMS_MAX]; /* too large for a kernel stack */
	u64 seed = 0xc0f1;
	u32 round;

	for (round = 0; round < 20000; round++) {
		struct kpn_nic_caps caps = backend;
		struct kpn_config config;
		u32 count;
		u32 i;

		build(&config, (enum base)kpn_random_below(&seed, 3));
		caps.start_quantum_bytes = kpn_random_below(&seed, 9);
		caps.prefetch_slots_max = kpn_random_below(&seed, 200);
		caps.ring_slots_multiple = kpn_random_below(&seed, 33);
		caps.has_spare_buffers = kpn_random_below(&seed, 2);
		if (round & 1)
			caps.poll_ns_min = (u32)kpn_random_bits(&seed, 15);
		for (i = 0; i < 4; i++) {
			const struct field *field =
				&fields[kpn_random_below(&seed, KPN_COUNT_OF(fields))];

			put(&config, field->offset, field->bytes, kpn_random_bits(&seed, 44));
		}
		config.rate_bps = rates[kpn_random_below(&seed, KPN_COUNT_OF(rates))];
		config.slot_bytes = 60 + kpn_random_below(&seed, 1500);
		count = kpn_config_validate(&config, &caps, problems, PROBLEMS_MAX);
		for (i = 0; i < count; i++) {
			if (i)
				KPN_EXPECT(t, field_position(problems[i - 1].field) <
						      field_position(problems[i].field));
			expect_honest_range(t, __LINE__, &config, &caps, &problems[i]);
		}
	}
}

/* struct row - the range that config_fields.h states for a member */
struct row {
	struct field field;
	bool is_flag; /* which has no value beyond its range */
	u64 min;
	u64 max;
};

#define ROW(member, type, option, attribute, unit, least, most, ...) \
	{ FIELD(member), #type[0] == 'b', least, most },

static bool is_refused(const struct row *row, u64 value)
{
	struct kpn_problem problems[PROBLEMS_MAX];
	struct kpn_config config;
	u32 count, i;

	build(&config, LOCKED);
	put(&config, row->field.offset, row->field.bytes, value);
	count = kpn_config_validate(&config, &backend, problems, PROBLEMS_MAX);
	for (i = 0; i < count; i++)
		if (!strcmp(problems[i].field, row->field.name))
			return true;
	return false;
}

static void test_ranges_of_rows(struct kpn_selftest *t)
{
	static const struct row rows[] = { KPN_CONFIG_FIELDS(ROW) };
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(rows); i++) {
		const struct row *row = &rows[i];
		u64 largest = ~0ull >> (64 - 8 * row->field.bytes);

		if (row->min)
			KPN_EXPECT(t, is_refused(row, row->min - 1));
		if (row->max < largest && !row->is_flag)
			KPN_EXPECT(t, is_refused(row, row->max + 1));
	}
}

void kpn_test_config(struct kpn_selftest *t)
{
	u32 i;

	fill_masks();
	for (i = 0; i < KPN_COUNT_OF(vectors); i++)
		test_vector(t, &vectors[i]);
	test_all_wrong(t);
	test_polls_in_field_order(t);
	test_longest_frames(t);
	test_ranges_of_rows(t);
	test_random_configs(t);
}
