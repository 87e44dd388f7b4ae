// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/rx_ring.hpp"

#include <algorithm>

namespace keepon::sim
{

namespace
{
/// Stamps are asked for within a wake-up of the arrival.
constexpr TimePs kRememberPs = 100'000'000'000;
constexpr int kPollsMax = 64;
} // namespace

RxRing::RxRing(World &world, const std::string &name, const StationSpec &spec,
	       KeeponTransmitter &own, KeeponTransmitter &peer, TimePs propagation_ps,
	       Oscillator &cpu_oscillator, HostCpu &cpu)
	: world_(world), own_(own), peer_(peer), propagation_ps_(propagation_ps),
	  cpu_oscillator_(cpu_oscillator), cpu_(cpu), poll_irq_(cpu, CpuPriority::kHardIrq),
	  poll_latency_(spec.host.poll, Rng(world.seed, name, "rx poll")),
	  rng_(world.seed, name, "rx index read"), read_ps_(spec.nic.index_read_ns * kPsPerNs),
	  lag_ps_min_(spec.nic.rx_lag_ns_min * kPsPerNs),
	  lag_ps_max_(spec.nic.rx_lag_ns_max * kPsPerNs)
{
	const kpn_config &config = own.Config();
	const std::int64_t byte_ps = kpn_byte_time_ps(config.rate_bps);
	// What the model tells is the end of a slot, its gap included: another constant part of the
	// lag, of the peer's oscillator.
	const std::int64_t gap_ns = KPN_GAP_BYTES * byte_ps / kPsPerNs;
	const std::int64_t lag_ns_min = spec.nic.rx_lag_ns_min + gap_ns;
	const std::int64_t lag_ns_max = spec.nic.rx_lag_ns_max + gap_ns;
	kpn_rx_config rx{};
	rx.rate_bps = config.rate_bps;
	// The stated bound is on one NIC against the CPU; the peer's NIC is another one.
	rx.drift_ppb_max = std::min<std::uint32_t>(2 * config.drift_ppb_max, 1'000'000);
	rx.wander_ppb_per_s_max =
		std::min<std::uint32_t>(2 * config.wander_ppb_per_s_max, 1'000'000);
	rx.lag_ns_min = static_cast<std::uint32_t>(lag_ns_min - lag_ns_min / 1000);
	rx.lag_ns_max = static_cast<std::uint32_t>(lag_ns_max + lag_ns_max / 1000 + 1);
	rx.frame_bytes_max = KPN_FRAME_BYTES_MAX;
	rx.cpu_tick_ns = static_cast<std::uint32_t>(spec.cpu_tick_ns);
	poll_ps_ = static_cast<std::int64_t>(config.batch_slots * own.SlotPs());
	dither_ps_ = std::min(static_cast<std::int64_t>(own.SlotPs()), poll_ps_ / 2);
	rx.poll_ns = static_cast<std::uint64_t>(poll_ps_ / kPsPerNs);
	if (const char *wrong = kpn_rx_problem(&rx))
		throw ValueError("station " + name + ": receive ring: " + wrong);
	kpn_rx_init(&rx_, &rx);
	const auto tau_ns = spec.keepon.tau_ns ? static_cast<std::uint64_t>(*spec.keepon.tau_ns) :
						 kpn_merge_tau_ns(&config);
	kpn_dual_init(&dual_, own.Pacer(), &rx_, static_cast<kpn_merge>(spec.keepon.merge), tau_ns);
	peer.HearFrames(*this);
	own.UseBothRings(dual_);
}

void RxRing::SchedulePoll()
{
	const std::int64_t sleep_ps =
		poll_ps_ - static_cast<std::int64_t>(rng_.Below(dither_ps_ + 1));
	const std::int64_t wake = cpu_oscillator_.Local(world_.now) + sleep_ps;
	poll_irq_.Run(cpu_oscillator_.TrueOf(wake) + poll_latency_.Draw(), 0, poll_);
}

void RxRing::OnPoll(TimePs, std::uint64_t)
{
	Observe();
	cpu_.Occupy(poll_irq_, free_ - world_.now);
	SchedulePoll();
}

/// One reading of the index, and the descriptors up to it.
void RxRing::Observe()
{
	const TimePs before = std::max(world_.now, free_);
	const TimePs sample = before + rng_.Below(read_ps_ + 1);
	const TimePs after = before + read_ps_;
	const TimePs lag = lag_ps_min_ + rng_.Below(lag_ps_max_ - lag_ps_min_ + 1);

	free_ = after;
	for (const std::uint64_t ended = peer_.FramesEnded(sample - lag - propagation_ps_);
	     rx_.head_seq < ended;) {
		const std::uint64_t seq = rx_.head_seq;
		const std::uint64_t position_ps = kpn_rx_take(&rx_, peer_.FrameBytes(seq));
		if (counted_ < frames_.size() && frames_[counted_].seq == seq)
			frames_[counted_++].position_ps = position_ps;
	}
	kpn_rx_observe(&rx_, own_.CpuNsAt(before), own_.CpuNsAt(after));
	kpn_dual_correct(&dual_, own_.CpuNsNow(after));
	own_.AfterChange();
}

void RxRing::OnPeerFrame(std::uint64_t seq, TimePs sfd)
{
	const TimePs arrival = sfd + propagation_ps_;

	while (counted_ > 0 && frames_.front().sfd < arrival - kRememberPs) {
		frames_.pop_front();
		counted_--;
	}
	frames_.push_back({ seq, arrival, std::nullopt });
}

/// Not valid unless the frame has been counted.
kpn_rx_stamp RxRing::Stamp(TimePs sfd)
{
	const auto of_sfd = [&](const Frame &frame) { return frame.sfd == sfd; };
	const auto frame = std::find_if(frames_.begin(), frames_.end(), of_sfd);

	if (frame == frames_.end())
		return {};
	// Software sees it because the poller came by. One reading may show an index from before
	// the frame: it reads on.
	for (int polls = 0; !frame->position_ps && polls < kPollsMax; polls++)
		Observe();
	if (!frame->position_ps)
		return {};
	return kpn_dual_stamp(&dual_, *frame->position_ps, own_.CpuNsNow(free_));
}

std::optional<std::int64_t> RxRing::StampPs(TimePs sfd)
{
	const kpn_rx_stamp stamp = Stamp(sfd);
	if (!stamp.valid) {
		unstamped_++;
		return std::nullopt;
	}
	stamps_++;
	return own_.SinceEpochPs(stamp.time);
}

} // namespace keepon::sim
