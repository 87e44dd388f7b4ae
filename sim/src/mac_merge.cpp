// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/mac_merge.hpp"

#include <algorithm>

namespace keepon::sim
{

void MacMerge::Begin(Mac &mac, std::uint32_t frame_bytes, TimePs now)
{
	rest_bytes_ = frame_bytes;
	Continue(mac, now);
	all_ = part_;
}

void MacMerge::Continue(Mac &mac, TimePs now)
{
	part_ = mac.Send(rest_bytes_, now);
	under_way_ = true;
}

TimePs MacMerge::InterruptibleUntil(Mac &mac) const
{
	if (rest_bytes_ < cut_bytes_min_ + kLastBytesMin)
		return -1;
	return mac.TrueOf(part_.Sfd() +
			  std::int64_t{ rest_bytes_ - kLastBytesMin } * part_.byte_time_ps);
}

void MacMerge::Interrupt(Mac &mac, TimePs now)
{
	const std::uint32_t bytes =
		std::clamp(mac.BytesBegun(now), cut_bytes_min_, rest_bytes_ - kLastBytesMin);
	mac.EndAfter(bytes + kMcrcBytes);
	rest_bytes_ -= bytes;
	under_way_ = false;
	all_.mpackets++;
}

Transmission MacMerge::End()
{
	all_.interrupted_ps = part_.LastBit() - all_.LastBit();
	rest_bytes_ = 0;
	return all_;
}

} // namespace keepon::sim
