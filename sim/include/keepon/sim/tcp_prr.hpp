// SPDX-License-Identifier: BSD-3-Clause
// Proportional Rate Reduction (RFC 6937, with slow start reduction bound): how many segments may be
// sent in fast recovery, so that the window comes down to ssthresh over a round trip.
#pragma once

#include <algorithm>
#include <cstdint>

namespace keepon::sim
{

class TcpPrr
{
public:
	/// Recovery begins with a window of \p cwnd, which is to become \p ssthresh.
	void Begin(std::int64_t cwnd, std::int64_t ssthresh)
	{
		*this = TcpPrr();
		recover_fs_ = std::max<std::int64_t>(cwnd, 1);
		ssthresh_ = ssthresh;
	}

	void OnSent() { out_++; }

	/// An ACK in recovery: \p delivered segments by it, \p pipe after it. \p good: SND.UNA has
	/// advanced and nothing more was found lost, so that one more may go (as Linux has it).
	/// Returns how many segments may be sent now.
	std::int64_t OnAck(std::int64_t delivered, std::int64_t pipe, bool good)
	{
		delivered_ += delivered;
		std::int64_t send = 0;
		if (pipe > ssthresh_) {
			send = (delivered_ * ssthresh_ + recover_fs_ - 1) / recover_fs_ - out_;
		} else {
			const std::int64_t limit =
				std::max(delivered_ - out_, delivered) + (good ? 1 : 0);
			send = std::min(ssthresh_ - pipe, limit);
		}
		return std::max<std::int64_t>(send, out_ == 0); // a fast retransmit at once
	}

private:
	std::int64_t recover_fs_ = 1; // RecoverFS
	std::int64_t ssthresh_ = 0;
	std::int64_t delivered_ = 0; // prr_delivered
	std::int64_t out_ = 0;       // prr_out
};

} // namespace keepon::sim
