// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/tcp_rtt.hpp"

#include <algorithm>
#include <cstdlib>

namespace keepon::sim
{

void TcpRtt::OnSample(TimePs rtt_ps, TimePs now)
{
	const TimePs rtt = std::max<TimePs>(rtt_ps, 1);
	latest_ = rtt;
	if (min_ == 0 || rtt <= min_ || now - min_at_ > kMinWindowPs) {
		min_ = rtt;
		min_at_ = now;
	}
	if (srtt_ == 0) {
		srtt_ = rtt;
		rttvar_ = rtt / 2;
	} else {
		rttvar_ += (std::abs(srtt_ - rtt) - rttvar_) / 4; // beta = 1/4
		srtt_ += (rtt - srtt_) / 8;                       // alpha = 1/8
	}
	const TimePs spread =
		std::max({ spec_.granularity_ps, 4 * rttvar_, spec_.variance_ps_min }); // K = 4
	rto_ = std::clamp(srtt_ + spread, spec_.rto_ps_min, spec_.rto_ps_max);
}

void TcpRtt::BackOff()
{
	rto_ = std::min(2 * rto_, spec_.rto_ps_max);
}

} // namespace keepon::sim
