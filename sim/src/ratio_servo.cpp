// SPDX-License-Identifier: BSD-3-Clause
// The servo "ratio" of the KeepON paper, section 4.1 (D2, D3): a step by every offset, the rate from
// successive Syncs.
#include <algorithm>
#include <deque>
#include <numeric>

#include "keepon/sim/servo.hpp"

namespace keepon::sim
{

namespace
{

/// Every offset is removed by a step; the rate is the mean of the last measured ones.
class RatioServo final : public Servo
{
public:
	RatioServo(std::uint32_t filter_samples, double rate_ppb, double limit_ppb)
		: window_(std::max<std::uint32_t>(filter_samples, 1)), rate_ppb_(rate_ppb),
		  limit_ppb_(limit_ppb)
	{
	}

	ServoOutput Sample(std::int64_t offset_ps, std::int64_t local_ps) override
	{
		const double free_ps = free_.Advance(local_ps, rate_ppb_);
		const std::int64_t master_ps = local_ps - offset_ps;
		const double span_ps = free_ps - last_free_ps_;
		if (known_ && span_ps > 0) {
			rates_.push_back(
				(static_cast<double>(master_ps - last_master_ps_) / span_ps - 1.0) *
				1e9);
			if (rates_.size() > window_)
				rates_.pop_front();
			const double sum = std::accumulate(rates_.begin(), rates_.end(), 0.0);
			rate_ppb_ = std::clamp(sum / static_cast<double>(rates_.size()),
					       -limit_ppb_, limit_ppb_);
		}
		known_ = true;
		last_free_ps_ = free_ps;
		last_master_ps_ = master_ps;
		free_.Stepped(-offset_ps);
		return { ServoState::kJump, rate_ppb_ };
	}

	void Reset() override
	{
		known_ = false;
		free_.Reset();
	}

private:
	std::size_t window_;
	double rate_ppb_;
	double limit_ppb_;
	bool known_ = false;
	FreeTime free_;
	double last_free_ps_ = 0;
	std::int64_t last_master_ps_ = 0;
	std::deque<double> rates_;
};

std::unique_ptr<Servo> Make(const ServoSetup &setup)
{
	return std::make_unique<RatioServo>(setup.spec.filter_samples, setup.rate_ppb,
					    setup.limit_ppb);
}

const Registry<ServoKind>::Entry kEntry{ "ratio", { Make, true } };

} // namespace

} // namespace keepon::sim
