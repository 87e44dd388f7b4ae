// SPDX-License-Identifier: BSD-3-Clause
// Latency of one stage of a host: base + lognormal body + rare exponential tail, capped. The shape
// (narrow body, heavy rare tail) is that of published cyclictest and syscall histograms; numbers
// come from the host model, not from here.
#pragma once

#include <memory>
#include <vector>

#include "keepon/sim/rng.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// base_ns >= 0; median_ns >= 0 of the lognormal part; sigma of its logarithm; limit_ns > 0 leaves
/// out what of the lognormal is above it, so that it never is, 0: nothing; tail_probability in
/// [0, 1] adds an exponential of mean tail_mean_ns; cap_ns limits the sum, 0: no cap.
struct LatencySpec {
	double base_ns = 0;
	double median_ns = 0;
	double sigma = 0;
	double tail_probability = 0;
	double tail_mean_ns = 0;
	double cap_ns = 0;
	double limit_ns = 0;
};

class Latency
{
public:
	Latency(const LatencySpec &spec, Rng rng);

	/// One draw, in ps.
	TimePs Draw()
	{
		draws_++;
		if (!random_)
			return constant_;
		return DrawRandom();
	}

	/// How often this was asked for, and how often with a tail: what a run used of its host.
	std::int64_t Draws() const { return draws_; }
	std::int64_t Tails() const { return tails_; }

private:
	/// Of a body at i / cells; both ends unused.
	using Quantiles = std::vector<double>;

	static std::shared_ptr<const Quantiles> QuantilesOf(const LatencySpec &spec, double share);
	TimePs DrawRandom();
	double Body(double u) const;

	LatencySpec spec_;
	Rng rng_;
	bool random_;
	TimePs constant_;
	double share_ = 1; // of the lognormal that is below limit_ns
	std::int64_t draws_ = 0;
	std::int64_t tails_ = 0;
	std::shared_ptr<const Quantiles> quantiles_ns_; // NULL: the body is constant
};

} // namespace keepon::sim
