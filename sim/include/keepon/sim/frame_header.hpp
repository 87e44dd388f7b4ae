// SPDX-License-Identifier: BSD-3-Clause
// What a frame says of itself on the wire, which is all that bridges and NICs go by: destination,
// VLAN and priority (IEEE Std 802.1Q-2022 clause 9.6).
#pragma once

#include <cstdint>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

struct FrameHeader {
	std::uint64_t destination = 0; // 48 bits, the first byte on the wire highest
	std::uint16_t vid = 0;
	std::uint8_t priority = 0;
	bool drop_eligible = false;
	std::int32_t sequence =
		-1; // of its R-tag (IEEE Std 802.1CB-2017 clause 7.8); -1: it has none

	/// Who it is for, in one word: stream identification goes by both (null stream
	/// identification, IEEE Std 802.1CB-2017 clause 6.4).
	std::uint64_t Address() const { return std::uint64_t{ vid } << 48 | destination; }
};

inline constexpr std::uint16_t kVid = 2;
inline constexpr std::uint32_t kRtagBytes = 6;

/// Every stream, load and end-to-end flow of PTP has a group address of its own, as MAAP or a
/// network manager would hand out; from the locally administered ones.
inline FrameHeader HeaderOfFlow(FlowId flow, int priority)
{
	return { 0x034b'0000'0000u | flow, kVid, static_cast<std::uint8_t>(priority), false, -1 };
}

/// PTP between neighbours: a reserved address, which no bridge forwards (IEEE Std 802.1AS-2020
/// clause 10.5.3).
inline FrameHeader HeaderOfNeighbour(int priority)
{
	return { 0x0180'c200'000eu, kVid, static_cast<std::uint8_t>(priority), false, -1 };
}

} // namespace keepon::sim
