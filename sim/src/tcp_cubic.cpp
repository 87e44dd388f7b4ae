// SPDX-License-Identifier: BSD-3-Clause
// CUBIC (RFC 9438), with HyStart's two signs for the end of slow start as Linux has them (Ha, Rhee,
// "Taming the elephants: new TCP slow start", 2011; tcp_cubic's parameters). Whole numbers
// throughout, so that machines agree.
#include <algorithm>

#include "keepon/sim/tcp_congestion.hpp"

namespace keepon::sim
{

namespace
{

using Wide = __int128;

constexpr TimePs kPsPerUs = 1'000'000;
// C = 0.4 segments / s^3, beta = 0.7, alpha = 3 (1 - beta) / (1 + beta) = 9 / 17
constexpr std::int64_t kBetaTenths = 7;
constexpr std::int64_t kAlphaOver = 9;
constexpr std::int64_t kAlphaUnder = 17;
constexpr Wide kUs3PerS3 = Wide{ 1'000'000'000 } * 1'000'000'000;
/// How often the growth is computed again: at most once a tick of the host's clock (HZ = 250), and
/// not within 1/32 s while cwnd stays the same. Where round trips and times between losses are
/// shorter than that, cwnd hardly grows: Linux's Reno-friendly region starts that much later.
constexpr TimePs kTickPs = 4000 * kPsPerUs;
constexpr TimePs kStaleTicks = 250 / 32;
/// Growth while nothing is known of the path: a segment for 20 acknowledged at least.
constexpr std::int64_t kUnknownPer = 20;
/// HyStart: from this window on; ACKs closer than this are a train; this many samples of a round.
constexpr std::int64_t kLowWindow = 16;
constexpr TimePs kTrainPs = 2000 * kPsPerUs;
/// What a train may be longer because senders and receivers batch: Linux's bound of it, which holds
/// below 2 Gb/s.
constexpr TimePs kBatchPs = 1000 * kPsPerUs;
constexpr TimePs kSettlePs = 1'000'000 * kPsPerUs;
constexpr int kRoundSamples = 8;
constexpr TimePs kDelayPsMin = 4000 * kPsPerUs;
constexpr TimePs kDelayPsMax = 16000 * kPsPerUs;

/// The greatest whole number whose cube is not above \p value.
std::int64_t CubeRoot(Wide value)
{
	std::int64_t low = 0;
	std::int64_t high = std::int64_t{ 1 } << 40;
	while (high - low > 1) {
		const std::int64_t middle = low + (high - low) / 2;
		(Wide{ middle } * middle * middle <= value ? low : high) = middle;
	}
	return low;
}

class Cubic final : public TcpCongestion
{
public:
	void OnProgress(TcpWindow &window, const TcpProgress &progress) override;
	std::int64_t Reduced(const TcpWindow &window) override;
	void OnTimeout() override { *this = Cubic(); }
	void OnRtt(TcpWindow &window, const TcpProgress &progress) override;

private:
	std::int64_t Per(const TcpWindow &window, const TcpProgress &progress);
	void BeginEpoch(const TcpWindow &window, const TcpProgress &progress);
	std::int64_t PerOfCubic(const TcpWindow &window, TimePs now) const;
	std::int64_t PerOfReno(const TcpWindow &window);
	void HyStart(TcpWindow &window, const TcpProgress &progress);

	std::int64_t w_max_ = 0;
	TimePs epoch_start_ = kNever; // of congestion avoidance since the last loss
	std::int64_t k_us_ = 0;       // K
	std::int64_t origin_ = 0;     // the plateau, in segments
	std::int64_t w_est_ = 0;      // of the Reno-friendly region
	std::int64_t est_credit_ = 0; // acknowledged, x alpha's numerator, and not yet in w_est_
	// when the growth was last computed, and what it was
	std::int64_t computed_cwnd_ = 0;
	TimePs computed_tick_ = 0;
	std::int64_t per_ = 0;
	TimePs delay_min_ = 0;
	// a round of HyStart
	std::int64_t round_end_ = 0;
	TimePs round_start_ = 0;
	TimePs train_end_ = 0;
	TimePs round_rtt_ = kNever;
	int samples_ = 0;
};

/// At the first ACK of congestion avoidance after a loss (RFC 9438 section 4.2).
void Cubic::BeginEpoch(const TcpWindow &window, const TcpProgress &progress)
{
	epoch_start_ = progress.now;
	w_est_ = window.cwnd;
	est_credit_ = progress.acked * kAlphaOver;
	origin_ = std::max(w_max_, window.cwnd);
	// K^3 = (W_max - cwnd) / C
	k_us_ = CubeRoot(Wide{ origin_ - window.cwnd } * 10 / 4 * kUs3PerS3);
}

/// How many segments are to be acknowledged for one more of cwnd, so that a round trip from now
/// cwnd is W_cubic (RFC 9438 sections 4.2, 4.4 and 4.5).
std::int64_t Cubic::PerOfCubic(const TcpWindow &window, TimePs now) const
{
	const std::int64_t t_us = (now - epoch_start_ + delay_min_) / kPsPerUs;
	const Wide from_k = t_us - k_us_;
	const std::int64_t target =
		origin_ + static_cast<std::int64_t>(from_k * from_k * from_k * 4 / 10 / kUs3PerS3);
	const std::int64_t cwnd = window.cwnd;
	const std::int64_t per = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
	return w_max_ == 0 ? std::min(per, kUnknownPer) : per;
}

/// So that it is W_est, which grows by alpha a window (section 4.3).
std::int64_t Cubic::PerOfReno(const TcpWindow &window)
{
	const std::int64_t for_one = window.cwnd * kAlphaUnder;
	w_est_ += est_credit_ / for_one;
	est_credit_ %= for_one;
	return w_est_ > window.cwnd ? window.cwnd / (w_est_ - window.cwnd) : INT64_MAX;
}

/// The greater growth of both, half a window a round trip at most.
std::int64_t Cubic::Per(const TcpWindow &window, const TcpProgress &progress)
{
	const TimePs tick = progress.now / kTickPs;
	est_credit_ += progress.acked * kAlphaOver;
	if (computed_cwnd_ == window.cwnd && tick - computed_tick_ <= kStaleTicks && per_ > 0)
		return per_;
	if (epoch_start_ == kNever || tick != computed_tick_) {
		computed_cwnd_ = window.cwnd;
		computed_tick_ = tick;
		if (epoch_start_ == kNever)
			BeginEpoch(window, progress);
		per_ = PerOfCubic(window, progress.now);
	}
	return per_ = std::max<std::int64_t>(std::min(per_, PerOfReno(window)), 2);
}

void Cubic::OnProgress(TcpWindow &window, const TcpProgress &progress)
{
	TcpProgress beyond = progress;
	if (window.InSlowStart())
		beyond.acked = SlowStart(window, progress.acked);
	if (beyond.acked > 0)
		Avoid(window, Per(window, beyond), beyond.acked);
}

/// With fast convergence (RFC 9438 section 4.7).
std::int64_t Cubic::Reduced(const TcpWindow &window)
{
	epoch_start_ = kNever;
	if (window.cwnd < w_max_)
		w_max_ = window.cwnd * (10 + kBetaTenths) / 20;
	else
		w_max_ = window.cwnd;
	return std::max<std::int64_t>(window.cwnd * kBetaTenths / 10, 2);
}

void Cubic::OnRtt(TcpWindow &window, const TcpProgress &progress)
{
	if (epoch_start_ != kNever && progress.now - epoch_start_ < kSettlePs)
		return; // queues of the time before the loss
	if (delay_min_ == 0 || progress.rtt < delay_min_)
		delay_min_ = progress.rtt;
	if (window.InSlowStart() && window.cwnd >= kLowWindow)
		HyStart(window, progress);
}

/// Slow start ends when a train of ACKs has lasted for half the least round trip or more, or when the least
/// round trip of a round is longer by an eighth, within 4 to 16 ms.
void Cubic::HyStart(TcpWindow &window, const TcpProgress &progress)
{
	const TimePs now = progress.now;
	if (progress.una > round_end_) {
		round_start_ = train_end_ = now;
		round_end_ = progress.nxt;
		round_rtt_ = kNever;
		samples_ = 0;
	}
	bool found = false;
	if (now - train_end_ <= kTrainPs) {
		train_end_ = now;
		found = now - round_start_ > (delay_min_ + kBatchPs) / 2;
	}
	round_rtt_ = std::min(round_rtt_, progress.rtt);
	if (samples_ < kRoundSamples)
		samples_++;
	else
		found |= round_rtt_ >
			 delay_min_ + std::clamp(delay_min_ / 8, kDelayPsMin, kDelayPsMax);
	if (found)
		window.ssthresh = window.cwnd;
}

std::unique_ptr<TcpCongestion> Make()
{
	return std::make_unique<Cubic>();
}

const Registry<TcpCongestionKind>::Entry kEntry{ "cubic", { Make } };

} // namespace

} // namespace keepon::sim
