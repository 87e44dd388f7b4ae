// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/latency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <mutex>

namespace keepon::sim
{

namespace
{

/// Coarse enough for the tables of a whole network to stay in the cache.
constexpr int kCells = 512;

/// Share of the standard normal distribution below \p z.
double NormalShare(double z)
{
	return std::erfc(-z * M_SQRT1_2) / 2;
}

/// Quantile of the standard normal distribution by bisection on erfc; slow, used for tables and
/// outermost cells only.
double NormalQuantile(double u)
{
	double low = -9;
	double high = 9;
	for (int i = 0; i < 36; i++) { // to 3e-10
		const double middle = (low + high) / 2;
		(NormalShare(middle) < u ? low : high) = middle;
	}
	return (low + high) / 2;
}

} // namespace

Latency::Latency(const LatencySpec &spec, Rng rng)
	: spec_(spec), rng_(rng),
	  random_((spec.sigma > 0 && spec.median_ns > 0) || spec.tail_probability > 0)
{
	double ns = spec.base_ns + spec.median_ns;
	if (spec.cap_ns > 0)
		ns = std::min(ns, spec.cap_ns);
	constant_ = std::llround(ns * kPsPerNs);
	if (spec.sigma > 0 && spec.median_ns > 0) {
		if (spec.limit_ns > 0)
			share_ = NormalShare(std::log(spec.limit_ns / spec.median_ns) / spec.sigma);
		quantiles_ns_ = QuantilesOf(spec, share_);
	}
}

/// One table for all that are alike, in a process: it takes a while to make, and hosts of a network
/// are mostly the same.
std::shared_ptr<const Latency::Quantiles> Latency::QuantilesOf(const LatencySpec &spec,
							       double share)
{
	static std::mutex lock;
	static std::map<std::array<double, 3>, std::weak_ptr<const Quantiles>> known;

	const std::lock_guard<std::mutex> guard(lock);
	std::weak_ptr<const Quantiles> &entry = known[{ spec.median_ns, spec.sigma, share }];
	if (auto found = entry.lock())
		return found;
	auto made = std::make_shared<Quantiles>(kCells + 1);
	for (int i = 1; i < kCells; i++)
		(*made)[static_cast<std::size_t>(i)] =
			spec.median_ns * std::exp(spec.sigma * NormalQuantile(share * i / kCells));
	entry = made;
	return made;
}

double Latency::Body(double u) const
{
	if (!quantiles_ns_)
		return spec_.median_ns;
	const double at = u * kCells;
	const int cell = static_cast<int>(at);
	if (cell == 0 || cell >= kCells - 1)
		return spec_.median_ns * std::exp(spec_.sigma * NormalQuantile(share_ * u));
	const double *quantile_ns = quantiles_ns_->data() + cell;
	return quantile_ns[0] + (at - cell) * (quantile_ns[1] - quantile_ns[0]);
}

TimePs Latency::DrawRandom()
{
	double ns = spec_.base_ns + Body(rng_.Unit());
	if (spec_.tail_probability > 0 && rng_.Unit() < spec_.tail_probability) {
		ns -= spec_.tail_mean_ns * std::log(rng_.Unit());
		tails_++;
	}
	if (spec_.cap_ns > 0)
		ns = std::min(ns, spec_.cap_ns);
	return std::llround(ns * kPsPerNs);
}

} // namespace keepon::sim
