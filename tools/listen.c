/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keepon-listen: receive the streams of keepon-talk and tell when what arrived; see listen.h and
 * docs/tools.md.
 */
#include "listen.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	static struct listen_options options;
	static struct listen_run run;
	static struct kpt_output json, pcap;
	struct kpt_interface interface;
	int code;

	kpt_program = "keepon-listen";
	listen_options_read(&options, argc, argv);
	interface = kpt_interface_find(options.interface);
	kpt_output_open(&json, "--json", options.json);
	kpt_output_open(&pcap, "--pcap", options.pcap);
	if (pcap.file)
		listen_capture_begin(pcap.file);
	listen_receive(&options, &interface, &run, pcap.file);
	code = listen_report(&options, &run,
			     json.file == stdout || pcap.file == stdout ? stderr : stdout,
			     json.file);
	kpt_output_commit(&json);
	kpt_output_commit(&pcap);
	free(run.records);
	free(run.scratch);
	return code;
}
