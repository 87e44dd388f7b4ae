/* SPDX-License-Identifier: BSD-3-Clause */
/* The header test frames carry; see payload.h. */
#include "payload.h"

static void put(uint8_t *bytes, uint64_t value, int count)
{
	for (int i = count - 1; i >= 0; i--, value >>= 8)
		bytes[i] = (uint8_t)value;
}

static uint64_t get(const uint8_t *bytes, int count)
{
	uint64_t value = 0;

	for (int i = 0; i < count; i++)
		value = value << 8 | bytes[i];
	return value;
}

uint32_t kpt_stream_hash(const char *id)
{
	uint32_t hash = 2166136261u;

	for (; *id; id++)
		hash = (hash ^ (uint8_t)*id) * 16777619u;
	return hash;
}

void kpt_payload_write(uint8_t *bytes, const struct kpt_payload *payload)
{
	put(bytes, KPT_PAYLOAD_MAGIC, 4);
	bytes[4] = KPT_PAYLOAD_VERSION;
	bytes[5] = payload->clock;
	put(bytes + 6, payload->flags, 2);
	put(bytes + 8, payload->stream_hash, 4);
	put(bytes + 12, payload->seq, 8);
	put(bytes + 20, (uint64_t)payload->txtime_ns, 8);
	put(bytes + 28, (uint64_t)payload->sent_ns, 8);
}

bool kpt_payload_read(const uint8_t *bytes, size_t length, struct kpt_payload *payload)
{
	if (length < KPT_PAYLOAD_BYTES || get(bytes, 4) != KPT_PAYLOAD_MAGIC ||
	    bytes[4] != KPT_PAYLOAD_VERSION)
		return false;
	payload->clock = bytes[5];
	payload->flags = (uint16_t)get(bytes + 6, 2);
	payload->stream_hash = (uint32_t)get(bytes + 8, 4);
	payload->seq = get(bytes + 12, 8);
	payload->txtime_ns = (int64_t)get(bytes + 20, 8);
	payload->sent_ns = (int64_t)get(bytes + 28, 8);
	return true;
}

int kpt_payload_find(const uint8_t *bytes, size_t length, struct kpt_payload *payload)
{
	for (size_t place = 0; place <= KPT_PAYLOAD_SEARCH_BYTES && place < length; place += 2)
		if (kpt_payload_read(bytes + place, length - place, payload))
			return (int)place;
	return -1;
}
