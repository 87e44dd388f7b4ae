// SPDX-License-Identifier: BSD-3-Clause
// What a user may say about synchronisation by PTP. Ranges are checked in bind/ and where values
// meet (PtpNetwork).
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/servo.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// One PTP domain and the node whose clock it distributes. The first one is domain 0 and
/// disciplines the clocks.
struct PtpDomainSpec {
	std::uint8_t domain = 0;
	NodeId grandmaster = 0;
};

struct MasterChange {
	std::int64_t at_ns;
	NodeId node;
};

struct PtpSpec {
	bool gptp = true;
	std::vector<PtpDomainSpec> domains;
	std::int64_t interval_ns = 125'000'000;
	std::int64_t delay_interval_ns = 1'000'000'000; // between Delay_Req or Pdelay_Req
	ServoSpec servo;
	std::uint32_t delay_filter_samples = 10; // moving median, ptp4l(8) delay_filter_length
	std::uint32_t rate_samples = 8;          // exchanges a neighbour's rate is measured over
	int tc = 7;
	int queue = 6;
	std::int64_t start_offset_ns = 100'000; // clocks start within this of the grandmaster's
	std::int64_t sample_ns = 10'000'000;    // between comparisons of clocks with network time
	std::vector<MasterChange> changes;
};

} // namespace keepon::sim
