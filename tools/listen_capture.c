/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of keepon-listen: pcap with nanoseconds (draft-ietf-opsawg-pcap), in the byte order of
 * the machine.
 */
#include "clocks.h"
#include "listen.h"

enum { MAC_ADDRESSES_BYTES = 2 * KPT_MAC_BYTES, TAG_BYTES = 4, LINKTYPE_ETHERNET = 1 };

#define PCAP_NANOSECOND_MAGIC 0xa1b23c4du

/* Errors stay in the stream's error flag; kpt_output_commit() looks at it. */
static void write_words(FILE *file, const uint32_t *words, size_t count)
{
	fwrite(words, sizeof(*words), count, file);
}

void listen_capture_begin(FILE *file)
{
	const uint16_t version[] = { 2, 4 };
	const uint32_t magic = PCAP_NANOSECOND_MAGIC;
	const uint32_t rest[] = { 0, 0, LISTEN_FRAME_BYTES_MAX + TAG_BYTES, LINKTYPE_ETHERNET };

	write_words(file, &magic, 1);
	fwrite(version, sizeof(version), 1, file);
	write_words(file, rest, 4);
}

void listen_capture_frame(FILE *file, int64_t time_ns, const uint8_t *frame, size_t bytes,
			  const uint8_t *tag)
{
	size_t total = bytes + (tag ? TAG_BYTES : 0);
	const uint32_t header[] = {
		(uint32_t)(time_ns / KPT_SECOND_NS),
		(uint32_t)(time_ns % KPT_SECOND_NS),
		(uint32_t)total,
		(uint32_t)total,
	};

	write_words(file, header, 4);
	if (!tag) {
		fwrite(frame, 1, bytes, file);
		return;
	}
	fwrite(frame, 1, MAC_ADDRESSES_BYTES, file);
	fwrite(tag, 1, TAG_BYTES, file);
	fwrite(frame + MAC_ADDRESSES_BYTES, 1, bytes - MAC_ADDRESSES_BYTES, file);
}
