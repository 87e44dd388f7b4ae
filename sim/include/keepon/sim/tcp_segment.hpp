// SPDX-License-Identifier: BSD-3-Clause
// What two ends of a TCP connection tell each other, as far as the machines of tcp_sender.hpp and
// tcp_receiver.hpp compute with it. Sequence numbers count bytes from 0 and do not wrap: 64 bits
// stand for what 32 bits and time stamps (RFC 7323) tell apart on a wire.
#pragma once

#include <array>
#include <cstdint>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// Of a full segment's frame: Ethernet and FCS 18, IPv4 20, TCP 20, time stamps 12 (RFC 7323).
inline constexpr std::uint32_t kTcpHeaderBytes = 70;
/// DupThresh of RFC 5681 and RFC 6675.
inline constexpr std::int64_t kDupThresh = 3;
/// Of RACK, how wide it gets for what is reordered (Linux, 255) and for how long (RFC 8985 section
/// 6.2).
inline constexpr std::int64_t kWindowsMax = 255;
inline constexpr int kWindowsPersist = 16;
/// Initial window of RFC 6928, in segments.
inline constexpr std::int64_t kInitialWindow = 10;

struct TcpSegment {
	std::int64_t seq = 0;
	std::uint32_t bytes = 0; // of payload
	TimePs ts_val = 0;       // TSval
	std::int64_t End() const { return seq + bytes; }
};

/// One block of the SACK option: [left, right) has arrived (RFC 2018).
struct SackBlock {
	std::int64_t left = 0;
	std::int64_t right = 0;
};

/// Three blocks fit beside time stamps (RFC 2018 section 3). The first may tell of a segment that
/// came twice (RFC 2883).
struct TcpAck {
	static constexpr std::size_t kBlocks = 3;

	std::int64_t ack = 0;    // SEG.ACK
	std::int64_t window = 0; // SEG.WND, in bytes, scaled
	TimePs ts_ecr = 0;       // TSecr
	std::array<SackBlock, kBlocks> blocks{};
	std::size_t block_count = 0;
};

} // namespace keepon::sim
