// SPDX-License-Identifier: BSD-3-Clause
// PTP messages as they matter here: kind, length on the wire, and the fields a receiver computes
// with. Two-step throughout (IEEE Std 1588-2019 clause 13, IEEE Std 802.1AS-2020 clause 11.4). The
// frames themselves carry test bytes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

enum class PtpKind : std::uint8_t {
	kSync,
	kFollowUp,
	kDelayReq,
	kDelayResp,
	kPdelayReq,
	kPdelayResp,
	kPdelayRespFollowUp,
};
inline constexpr std::size_t kPtpKinds = 7;

inline const char *PtpKindName(PtpKind kind)
{
	constexpr std::array<const char *, kPtpKinds> names = { "sync",
								"follow-up",
								"delay-req",
								"delay-resp",
								"pdelay-req",
								"pdelay-resp",
								"pdelay-resp-follow-up" };
	return names[static_cast<std::size_t>(kind)];
}

/// Frame with FCS, untagged over Ethernet: header 34, body 10 or 20, and in gPTP a Follow_Up
/// information TLV of 32 bytes (IEEE Std 802.1AS-2020 clause 11.4.4.3); Ethernet adds 18 and fills
/// up to 64.
inline std::uint32_t PtpFrameBytes(PtpKind kind, bool gptp)
{
	std::uint32_t bytes = 44;
	if (kind == PtpKind::kFollowUp && gptp)
		bytes = 44 + 32;
	else if (kind != PtpKind::kSync && kind != PtpKind::kFollowUp && kind != PtpKind::kDelayReq)
		bytes = 54;
	return std::max<std::uint32_t>(bytes + 18, 64);
}

/// Stamps and corrections in ps; the correctionField resolves 0.015 ps of them, which is not
/// modelled.
struct PtpBody {
	PtpKind kind = PtpKind::kSync;
	std::uint8_t domain = 0;
	std::uint16_t sequence = 0;
	NodeId requester = 0; // of a response: whose request
	std::int64_t stamp_ps =
		0; // follow-ups: of the event message; responses: receipt of the request
	std::int64_t correction_ps = 0; // Sync's residence and link delays so far
	double rate_ratio =
		1.0; // of the grandmaster to the sender (cumulativeScaledRateOffset + 1)
};

} // namespace keepon::sim
