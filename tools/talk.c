/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepon-talk: send a cyclic stream with txtimes and tell what became of every frame; see talk.h
 * and docs/tools.md.
 */
#include "talk.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	static struct talk_options options;
	static struct talk_run run;
	static struct kpt_output json;
	struct kpt_interface interface;
	int code;

	kpt_program = "keepon-talk";
	talk_options_read(&options, argc, argv);
	interface = kpt_interface_find(options.interface);
	kpt_output_open(&json, "--json", options.json);
	talk_send(&options, &interface, &run);
	code = talk_report(&options, &run, json.file == stdout ? stderr : stdout, json.file);
	kpt_output_commit(&json);
	free(run.ledger.records);
	return code;
}
