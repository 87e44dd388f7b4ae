// SPDX-License-Identifier: BSD-3-Clause
// Per-stream filtering and policing of a bridge (IEEE Std 802.1Q-2022 clauses 8.6.5.2 to 8.6.5.5):
//
//   stream filter -> maximum SDU size -> stream gate -> flow meter
//
// The first filter whose stream and priority a frame has decides; a frame without one goes on. With
// PsfpSpec::as_linux, frames fare as by tc's actions gate and police in software.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "keepon/sim/ingress_pipeline.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// Octets of a tagged frame that are not its MSDU: addresses, tag, EtherType, FCS.
inline constexpr std::int64_t kTaggedOverheadBytes = 22;

/// A stream gate (clause 8.6.5.4). Times are ps of the bridge's clock.
class StreamGate
{
public:
	StreamGate(const StreamGateSpec &spec, std::int64_t epoch_ns, bool as_linux);

	/// Whether a frame of \p octets passes that arrives at \p time; \p priority: as the gate
	/// has it from now on.
	bool Passes(std::int64_t time, std::int64_t octets, int &priority);

private:
	StreamGateSpec spec_;
	bool as_linux_;
	std::int64_t base_ps_ = 0;
	std::int64_t pending_until_ = INT64_MIN;
	std::vector<std::int64_t> ends_; // of entries, from the start of a cycle
	std::int64_t interval_ = INT64_MIN;
	std::int64_t octets_ = 0; // that count in the interval
	bool shut_ = false;
};

/// A flow meter: the bandwidth profile of MEF 10.3 clause 12.1 for one flow.
class FlowMeter
{
public:
	enum class Color { kGreen, kYellow, kRed };

	explicit FlowMeter(const FlowMeterSpec &spec);

	/// \p time in ps, never less than that of the call before.
	Color Meter(std::int64_t time, std::int64_t octets, bool yellow);

private:
	using Tokens = __int128; // bits x 1e12

	FlowMeterSpec spec_;
	std::int64_t last_ = INT64_MIN;
	Tokens committed_;
	Tokens excess_;
	bool all_red_ = false;
};

class Psfp final : public IngressFilter
{
public:
	/// Counters of a filter (clause 12.31.2.2 has most of them).
	struct Counters {
		std::int64_t matching = 0;
		std::int64_t oversize = 0;
		std::int64_t not_passing = 0; // its gate
		std::int64_t red = 0;
		std::int64_t yellow = 0;
	};

	/// \param streams  handles of each filter's streams, in the order of filters
	/// \param clock  of the bridge, which gates go by
	Psfp(World &world, const std::string &bridge, const PsfpSpec &spec,
	     const std::vector<std::vector<std::uint32_t>> &streams,
	     std::function<std::int64_t(TimePs)> clock);

	std::optional<std::uint32_t> Drops(const Packet &packet, std::uint32_t stream, TimePs now,
					   Treatment &treatment) override;
	const std::vector<Counters> &Filters() const { return counters_; }

private:
	int FilterOf(std::uint32_t stream, int priority) const;

	PsfpSpec spec_;
	std::function<std::int64_t(TimePs)> clock_;
	std::vector<StreamGate> gates_;
	std::vector<FlowMeter> meters_;
	std::vector<std::vector<std::uint32_t>> by_stream_; // filters in order
	std::vector<std::uint32_t> of_any_;                 // of streams beyond by_stream_
	std::vector<bool> blocked_;                         // filters, by a frame too long
	std::vector<Counters> counters_;
	std::uint32_t oversize_place_;
	std::vector<std::uint32_t> gate_places_;
	std::vector<std::uint32_t> meter_places_;
};

} // namespace keepon::sim
