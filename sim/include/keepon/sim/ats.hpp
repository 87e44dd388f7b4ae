// SPDX-License-Identifier: BSD-3-Clause
// Asynchronous traffic shaping (IEEE Std 802.1Q-2022 clauses 8.6.5.6 and 8.6.11): where it enters a
// bridge, a frame of a stream with a scheduler gets the instant from which on it may be sent, by
// the bridge's crystal. Queues with that transmission selection (clause 8.6.8.5) send in the order
// of these instants: EgressPort::SortByEligibility().
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "keepon/sim/ingress_pipeline.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// An ATS scheduler (clause 8.6.11.3). Times are ps of one clock, which begins at 0.
class AtsScheduler
{
public:
	explicit AtsScheduler(const AtsSpec &spec);

	/// When a frame that is so long, with preamble and gap, and arrives at \p time is eligible,
	/// to the next ps; nothing if it is discarded. \p group: GroupEligibilityTime.
	std::optional<std::int64_t> Process(std::int64_t time, std::int64_t octets,
					    std::int64_t &group);

private:
	using Tokens = __int128; // bits x 1e12, or a time x CIR, so that nothing is rounded

	std::int64_t cir_bps_;
	Tokens burst_;
	std::int64_t max_residence_ps_;
	Tokens empty_; // BucketEmptyTime
};

/// The schedulers of a bridge.
class Ats final : public IngressFilter
{
public:
	Ats(World &world, const std::string &bridge, Oscillator &oscillator)
		: oscillator_(oscillator),
		  late_place_(world.Place(bridge + " maximum residence time"))
	{
	}

	/// \param streams  handles of its stream
	void Add(const std::vector<std::uint32_t> &streams, const AtsSpec &spec);
	std::optional<std::uint32_t> Drops(const Packet &packet, std::uint32_t stream, TimePs now,
					   Treatment &treatment) override;

private:
	struct Member {
		AtsScheduler scheduler;
		std::size_t group;
	};

	Oscillator &oscillator_;
	std::uint32_t late_place_;
	std::vector<Member> members_;
	std::vector<std::int32_t> by_stream_; // -1: none
	std::vector<std::int64_t> groups_;    // GroupEligibilityTime
};

} // namespace keepon::sim
