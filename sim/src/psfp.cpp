// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/psfp.hpp"

#include <algorithm>
#include <utility>

namespace keepon::sim
{

namespace
{

constexpr __int128 kTokensOfByte = static_cast<__int128>(8) * 1'000'000'000'000;

} // namespace

StreamGate::StreamGate(const StreamGateSpec &spec, std::int64_t epoch_ns, bool as_linux)
	: spec_(spec), as_linux_(as_linux)
{
	std::int64_t end_ns = 0;
	for (const StreamGateEntry &entry : spec_.entries)
		ends_.push_back((end_ns += entry.ns) * kPsPerNs);
	if (end_ns <= 0)
		throw ValueError("stream gate " + spec_.name + ": needs a cycle longer than 0");
	const std::int64_t until_base_ns = spec.base_ns - epoch_ns;
	base_ps_ = FloorMod(until_base_ns, end_ns) * kPsPerNs;
	if (!as_linux)
		return;
	// Nothing shuts act_gate for good, and it waits for its base time with an open gate
	// (GATE_ACT_PENDING).
	spec_.close_on_invalid_rx = spec_.close_on_octets_exceeded = false;
	pending_until_ =
		std::clamp(until_base_ns, -kNever / kPsPerNs, kNever / kPsPerNs) * kPsPerNs;
}

bool StreamGate::Passes(std::int64_t time, std::int64_t octets, int &priority)
{
	if (time < pending_until_)
		return true;
	const std::int64_t cycle = ends_.back();
	const std::int64_t phase = FloorMod(time - base_ps_, cycle);
	const auto found = std::upper_bound(ends_.begin(), ends_.end(), phase);
	const auto index = static_cast<std::size_t>(found - ends_.begin());
	const std::int64_t start = time - phase + (index ? ends_[index - 1] : 0);
	if (start != interval_) {
		interval_ = start;
		octets_ = 0;
	}
	const StreamGateEntry &entry = spec_.entries[index];
	if (!entry.open || shut_) {
		shut_ = shut_ || spec_.close_on_invalid_rx;
		return false;
	}
	const bool exceeded = entry.octets >= 0 && octets_ + octets > entry.octets;
	// act_gate adds what it drops, too.
	if (!exceeded || as_linux_)
		octets_ += octets;
	if (exceeded) {
		shut_ = spec_.close_on_octets_exceeded;
		return false;
	}
	// act_gate stores a priority and does nothing with it.
	if (entry.priority >= 0 && !as_linux_)
		priority = entry.priority;
	return true;
}

FlowMeter::FlowMeter(const FlowMeterSpec &spec)
	: spec_(spec), committed_(spec.cbs_bytes * kTokensOfByte),
	  excess_(spec.ebs_bytes * kTokensOfByte)
{
}

FlowMeter::Color FlowMeter::Meter(std::int64_t time, std::int64_t octets, bool yellow)
{
	const Tokens bits = octets * kTokensOfByte;
	const Tokens committed_max = spec_.cbs_bytes * kTokensOfByte;
	const Tokens excess_max = spec_.ebs_bytes * kTokensOfByte;
	// Both buckets are full at the first frame.
	const std::int64_t passed =
		last_ == INT64_MIN ? 0 : std::max<std::int64_t>(time - last_, 0);
	last_ = std::max(last_, time);
	committed_ += static_cast<Tokens>(passed) * spec_.cir_bps;
	const Tokens overflow = std::max<Tokens>(committed_ - committed_max, 0);
	committed_ -= overflow;
	excess_ += static_cast<Tokens>(passed) * spec_.eir_bps + (spec_.coupling ? overflow : 0);
	excess_ = std::min(excess_, excess_max);

	if (all_red_)
		return Color::kRed;
	if (!(spec_.color_aware && yellow) && bits <= committed_) {
		committed_ -= bits;
		return Color::kGreen;
	}
	if (bits <= excess_) {
		excess_ -= bits;
		return Color::kYellow;
	}
	all_red_ = spec_.mark_all_red;
	return Color::kRed;
}

Psfp::Psfp(World &world, const std::string &bridge, const PsfpSpec &spec,
	   const std::vector<std::vector<std::uint32_t>> &streams,
	   std::function<std::int64_t(TimePs)> clock)
	: spec_(spec), clock_(std::move(clock)), blocked_(spec.filters.size()),
	  counters_(spec.filters.size()), oversize_place_(world.Place(bridge + " maximum SDU size"))
{
	for (const StreamGateSpec &gate : spec_.gates) {
		gates_.emplace_back(gate, world.epoch_ns, spec_.as_linux);
		gate_places_.push_back(world.Place(bridge + " stream gate " + gate.name));
	}
	for (const FlowMeterSpec &meter : spec_.meters) {
		meters_.emplace_back(meter);
		meter_places_.push_back(world.Place(bridge + " flow meter " + meter.name));
	}
	for (std::uint32_t i = 0; i < streams.size(); i++) {
		for (const std::uint32_t stream : streams[i]) {
			while (by_stream_.size() <= stream)
				by_stream_.push_back(of_any_);
			by_stream_[stream].push_back(i);
		}
		if (!streams[i].empty())
			continue;
		of_any_.push_back(i);
		for (auto &filters : by_stream_)
			filters.push_back(i);
	}
}

int Psfp::FilterOf(std::uint32_t stream, int priority) const
{
	for (const std::uint32_t filter :
	     stream < by_stream_.size() ? by_stream_[stream] : of_any_) {
		const int wanted = spec_.filters[filter].priority;
		if (wanted < 0 || wanted == priority)
			return static_cast<int>(filter);
	}
	return -1;
}

std::optional<std::uint32_t> Psfp::Drops(const Packet &packet, std::uint32_t stream, TimePs now,
					 Treatment &treatment)
{
	const int found = FilterOf(stream, packet.header.priority);
	if (found < 0)
		return std::nullopt;
	const auto index = static_cast<std::size_t>(found);
	const StreamFilterSpec &filter = spec_.filters[index];
	Counters &count = counters_[index];
	const std::int64_t sdu = packet.frame_bytes - kTaggedOverheadBytes;
	count.matching++;
	const bool oversize = filter.max_sdu_bytes >= 0 && sdu > filter.max_sdu_bytes;
	if (oversize || blocked_[index]) {
		blocked_[index] = blocked_[index] || filter.block_oversize;
		count.oversize++;
		return oversize_place_;
	}
	if (filter.gate >= 0) {
		const auto gate = static_cast<std::size_t>(filter.gate);
		if (!gates_[gate].Passes(clock_(now), sdu, treatment.priority)) {
			count.not_passing++;
			return gate_places_[gate];
		}
	}
	if (filter.meter < 0)
		return std::nullopt;
	const auto meter = static_cast<std::size_t>(filter.meter);
	const FlowMeterSpec &profile = spec_.meters[meter];
	// MEF counts the frame from its addresses to its FCS, act_police what a gate counts.
	const FlowMeter::Color color =
		meters_[meter].Meter(clock_(now), spec_.as_linux ? sdu : packet.frame_bytes,
				     packet.header.drop_eligible);
	count.red += color == FlowMeter::Color::kRed;
	count.yellow += color == FlowMeter::Color::kYellow;
	if (color == FlowMeter::Color::kRed ||
	    (color == FlowMeter::Color::kYellow && profile.drop_on_yellow))
		return meter_places_[meter];
	treatment.drop_eligible |= color == FlowMeter::Color::kYellow;
	return std::nullopt;
}

} // namespace keepon::sim
