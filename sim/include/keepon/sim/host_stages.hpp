// SPDX-License-Identifier: BSD-3-Clause
// The stages of a host, each with draws of its own for every purpose it is gone through for.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "keepon/sim/application.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/spec.hpp"

namespace keepon::sim
{

class HostStages
{
public:
	HostStages(std::uint64_t seed, std::string name, const StationSpec &spec)
		: seed_(seed), name_(std::move(name)), spec_(spec)
	{
	}

	/// Made when it is first asked for; stays where it is.
	Latency &Of(HostStage stage, const char *purpose);
	/// Sum of \p count over all purposes of \p stage.
	std::int64_t Sum(HostStage stage, std::int64_t (Latency::*count)() const) const;

private:
	struct Entry {
		Entry(HostStage of, const char *why, const LatencySpec &spec, const Rng &rng)
			: stage(of), purpose(why), latency(spec, rng)
		{
		}

		HostStage stage;
		std::string purpose;
		Latency latency;
	};

	const LatencySpec &SpecOf(HostStage stage) const;

	std::uint64_t seed_;
	std::string name_;
	const StationSpec &spec_;
	std::deque<Entry> entries_;
};

} // namespace keepon::sim
