/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * Userspace runner of the vector tests: `core-selftest [room...]`, all rooms by default. One line
 * per failure, a closing line with the counts. Exit code 0: all passed; 1: a failure; 2: no such
 * room.
 */
#include <inttypes.h>
#include <stdio.h>

#include "selftest.h"

/*
 * Of one room only so many failures are shown: a broken property would repeat itself for thousands
 * of cases.
 */
enum { SHOWN_PER_ROOM_MAX = 50 };

struct room {
	const char *name;
	void (*run)(struct kpn_selftest *t);
};

static const struct room rooms[] = {
#define ROOM_ROW(room) { #room, kpn_test_##room },
	KPN_SELFTESTS(ROOM_ROW)
#undef ROOM_ROW
};

/* struct runner - the run and where its present room began */
struct runner {
	struct kpn_selftest t;
	u64 failed_before_room;
};

static void print_failure(struct kpn_selftest *t, const struct kpn_selftest_failure *failure)
{
	const struct runner *runner =
		(const struct runner *)((const char *)t - offsetof(struct runner, t));

	if (t->failed - runner->failed_before_room > SHOWN_PER_ROOM_MAX)
		return;
	if (failure->expected_text)
		printf("%s:%d: %s is \"%s\", expected \"%s\"\n", failure->file, failure->line,
		       failure->expression, failure->text, failure->expected_text);
	else
		printf("%s:%d: %s is %" PRId64 ", expected %" PRId64 "\n", failure->file,
		       failure->line, failure->expression, failure->value, failure->expected);
}

static void run_room(struct runner *runner, const struct room *room)
{
	u64 failed;

	runner->failed_before_room = runner->t.failed;
	room->run(&runner->t);
	failed = runner->t.failed - runner->failed_before_room;
	if (failed > SHOWN_PER_ROOM_MAX)
		printf("%s: %" PRIu64 " more failures not shown\n", room->name,
		       failed - SHOWN_PER_ROOM_MAX);
}

static const struct room *find_room(const char *name)
{
	u32 i;

	for (i = 0; i < KPN_COUNT_OF(rooms); i++) {
		if (strcmp(rooms[i].name, name) == 0)
			return &rooms[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct runner runner = { .t.report = print_failure };
	u32 i;
	int arg;

	for (arg = 1; arg < argc; arg++) {
		if (find_room(argv[arg]))
			continue;
		fprintf(stderr, "core-selftest: argument '%s' is no room; name any of:", argv[arg]);
		for (i = 0; i < KPN_COUNT_OF(rooms); i++)
			fprintf(stderr, " %s", rooms[i].name);
		fprintf(stderr, "\n");
		return 2;
	}
	if (argc > 1) {
		for (arg = 1; arg < argc; arg++)
			run_room(&runner, find_room(argv[arg]));
	} else {
		for (i = 0; i < KPN_COUNT_OF(rooms); i++)
			run_room(&runner, &rooms[i]);
	}
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", runner.t.passed, runner.t.failed);
	return runner.t.failed ? 1 : 0;
}
