// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/ats.hpp"

#include <algorithm>

namespace keepon::sim
{

namespace
{

constexpr std::int64_t kOverheadBytes = 20; // preamble and gap, which are media-dependent overhead
constexpr __int128 kTokensOfByte = static_cast<__int128>(8) * 1'000'000'000'000;

} // namespace

AtsScheduler::AtsScheduler(const AtsSpec &spec)
	: cir_bps_(spec.cir_bps), burst_(spec.cbs_bytes * kTokensOfByte),
	  max_residence_ps_(spec.max_residence_ns * kPsPerNs), empty_(-burst_)
{
}

std::optional<std::int64_t> AtsScheduler::Process(std::int64_t time, std::int64_t octets,
						  std::int64_t &group)
{
	const Tokens scheduled = empty_ + octets * kTokensOfByte;
	const Tokens full = empty_ + burst_;
	const Tokens eligible = std::max(Tokens{ std::max(time, group) } * cir_bps_, scheduled);
	const auto assigned = static_cast<std::int64_t>((eligible + cir_bps_ - 1) / cir_bps_);
	if (assigned - time > max_residence_ps_)
		return std::nullopt;
	group = assigned;
	empty_ = eligible < full ? scheduled : scheduled + eligible - full;
	return assigned;
}

void Ats::Add(const std::vector<std::uint32_t> &streams, const AtsSpec &spec)
{
	for (const std::uint32_t stream : streams) {
		if (by_stream_.size() <= stream)
			by_stream_.resize(stream + 1, -1);
		by_stream_[stream] = static_cast<std::int32_t>(members_.size());
	}
	if (groups_.size() <= spec.group)
		groups_.resize(spec.group + 1);
	members_.push_back({ AtsScheduler(spec), spec.group });
}

std::optional<std::uint32_t> Ats::Drops(const Packet &packet, std::uint32_t stream, TimePs now,
					Treatment &treatment)
{
	if (stream >= by_stream_.size() || by_stream_[stream] < 0)
		return std::nullopt;
	Member &own = members_[static_cast<std::size_t>(by_stream_[stream])];
	const auto eligible = own.scheduler.Process(
		oscillator_.Local(now), packet.frame_bytes + kOverheadBytes, groups_[own.group]);
	if (!eligible)
		return late_place_;
	treatment.wait = std::max<TimePs>(oscillator_.TrueOf(*eligible) - now, 0);
	return std::nullopt;
}

} // namespace keepon::sim
