// SPDX-License-Identifier: BSD-3-Clause
// Latency of one stage of a host: base + lognormal body + rare exponential tail, capped. The shape
// (narrow body, heavy rare tail) is that of published cyclictest and syscall histograms; numbers
// come from the host model, not from here.
#pragma once

#include <vector>

#include "keepon/sim/rng.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// base_ns >= 0; median_ns >= 0 of the lognormal part; sigma of its logarithm; tail_probability in
/// [0, 1] adds an exponential of mean tail_mean_ns; cap_ns limits the sum, 0: no cap.
struct LatencySpec {
	double base_ns = 0;
	double median_ns = 0;
	double sigma = 0;
	double tail_probability = 0;
	double tail_mean_ns = 0;
	double cap_ns = 0;
};

class Latency
{
public:
	Latency(const LatencySpec &spec, Rng rng);

	/// One draw, in ps.
	TimePs Draw()
	{
		if (!random_)
			return constant_;
		return DrawRandom();
	}

private:
	TimePs DrawRandom();
	double Body(double u) const;

	LatencySpec spec_;
	Rng rng_;
	bool random_;
	TimePs constant_;
	std::vector<double> quantile_ns_; // of the lognormal at i / cells, ends unused
};

} // namespace keepon::sim
