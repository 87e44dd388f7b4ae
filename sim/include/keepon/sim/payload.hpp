// SPDX-License-Identifier: BSD-3-Clause
// The bytes of test frames: every one says which frame it belongs to, so that stale, torn or
// foreign bytes are noticed.
//   0 destination, 6 source, 12 VLAN tag, 16 type 0x88b5 (IEEE Std 802, local experimental),
//   18 zero, 20 flow, 24 sequence, 32 pattern
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "keepon/sim/core.hpp"
#include "keepon/sim/frame_header.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

inline constexpr std::uint32_t kPayloadHeaderBytes = 32;

struct PayloadHeader {
	std::uint8_t header[20]; // addresses, tag, type
	std::uint32_t flow;
	std::int64_t seq;
};
static_assert(sizeof(PayloadHeader) == kPayloadHeaderBytes);

inline constexpr std::uint64_t kPatternStep = 0x9e3779b97f4a7c15u; // from word to word

/// First word of the pattern; no byte of it is 0, so a frame cut short is noticed.
inline std::uint64_t PatternStart(const PayloadHeader &header)
{
	return Mix64(Mix64(header.flow) ^ static_cast<std::uint64_t>(header.seq)) |
	       0x0101010101010101u;
}

inline PayloadHeader MakeHeader(NodeId talker, const FrameHeader &to, FlowId flow, std::int64_t seq)
{
	PayloadHeader made{};
	const int tci = to.priority << 13 | to.vid;
	const std::uint8_t rest[] = { 2,
				      0,
				      0x4b,
				      1,
				      static_cast<std::uint8_t>(talker >> 8),
				      static_cast<std::uint8_t>(talker),
				      0x81,
				      0x00,
				      static_cast<std::uint8_t>(tci >> 8),
				      static_cast<std::uint8_t>(tci),
				      0x88,
				      0xb5 };
	for (int i = 0; i < 6; i++)
		made.header[i] = static_cast<std::uint8_t>(to.destination >> (40 - 8 * i));
	std::memcpy(made.header + 6, rest, sizeof(rest));
	made.flow = flow;
	made.seq = seq;
	return made;
}

/// What bridges and NICs read of it.
inline FrameHeader HeaderOf(const PayloadHeader &frame)
{
	FrameHeader header;
	for (int i = 0; i < 6; i++)
		header.destination = header.destination << 8 | frame.header[i];
	header.vid = static_cast<std::uint16_t>((frame.header[14] & 0xf) << 8 | frame.header[15]);
	header.priority = frame.header[14] >> 5;
	return header;
}

/// \param data  room for frame_bytes - 4, rounded up to 8; frame_bytes at least 64
inline void WritePayload(std::uint8_t *data, std::uint32_t frame_bytes, NodeId talker,
			 const FrameHeader &to, FlowId flow, std::int64_t seq)
{
	const PayloadHeader header = MakeHeader(talker, to, flow, seq);
	std::memcpy(data, &header, sizeof(header));
	const std::size_t end = frame_bytes - KPN_FCS_BYTES;
	std::uint64_t word = PatternStart(header);
	// Compilers make vectors of this as the index cannot wrap: std::uint32_t could.
#pragma GCC unroll 4
	for (std::size_t at = sizeof(header); at < end; at += 8, word += kPatternStep)
		std::memcpy(data + at, &word, 8);
}

/// Whether it may be one of a test frame: a wiped one would name the first frame of the first flow.
inline bool IsTestFrame(const PayloadHeader &header)
{
	return header.header[16] == 0x88 && header.header[17] == 0xb5 && header.seq >= 0;
}

inline PayloadHeader ReadPayload(const std::uint8_t *data)
{
	PayloadHeader header;
	std::memcpy(&header, data, sizeof(header));
	return header;
}

/// Whether \p data holds exactly the frame of \p talker to \p to that it names, \p data_bytes long,
/// and zeros up to \p wire_bytes.
inline bool CheckPayload(const std::uint8_t *data, NodeId talker, const FrameHeader &to,
			 std::uint32_t data_bytes, std::uint32_t wire_bytes)
{
	const PayloadHeader header = ReadPayload(data);
	const PayloadHeader expected = MakeHeader(talker, to, header.flow, header.seq);
	std::uint64_t word = PatternStart(header);
	std::uint64_t differences = 0;
	std::uint64_t value;

	if (data_bytes > wire_bytes || std::memcmp(&header, &expected, sizeof(header)) != 0)
		return false;
	const std::size_t words = (data_bytes - sizeof(header)) / 8;
	std::uint64_t next = word;
#pragma GCC unroll 4
	for (std::size_t i = 0; i < words; i++, next += kPatternStep) {
		std::memcpy(&value, data + sizeof(header) + 8 * i, 8);
		differences |= value ^ next;
	}
	std::size_t at = sizeof(header) + 8 * words;
	word += words * kPatternStep;
	for (; at < data_bytes; at++, word >>= 8)
		differences |= data[at] ^ (word & 0xff);
	for (; at + 8 <= wire_bytes; at += 8) {
		std::memcpy(&value, data + at, 8);
		differences |= value;
	}
	for (; at < wire_bytes; at++)
		differences |= data[at];
	return differences == 0;
}

} // namespace keepon::sim
