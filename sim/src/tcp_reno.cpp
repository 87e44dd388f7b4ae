// SPDX-License-Identifier: BSD-3-Clause
// Reno: a segment a round trip, and half at a loss (RFC 5681 section 3.1).
#include <algorithm>

#include "keepon/sim/tcp_congestion.hpp"

namespace keepon::sim
{

namespace
{

class Reno final : public TcpCongestion
{
public:
	void OnProgress(TcpWindow &window, const TcpProgress &progress) override
	{
		std::int64_t acked = progress.acked;
		if (window.InSlowStart())
			acked = SlowStart(window, acked);
		if (acked > 0)
			Avoid(window, window.cwnd, acked);
	}

	std::int64_t Reduced(const TcpWindow &window) override
	{
		return std::max<std::int64_t>(window.cwnd / 2, 2);
	}
};

std::unique_ptr<TcpCongestion> Make()
{
	return std::make_unique<Reno>();
}

const Registry<TcpCongestionKind>::Entry kEntry{ "reno", { Make } };

} // namespace

} // namespace keepon::sim
