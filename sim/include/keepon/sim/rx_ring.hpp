// SPDX-License-Identifier: BSD-3-Clause
// The receive ring of a keepon station whose peer keeps its wire saturated, too, and the poller
// that walks it (KeepON paper section 4.2, D9, D16): every frame is counted, placeholders included,
// and a received frame is stamped by its place among them. The decisions are the core's (`rx`,
// `dual`); this is what a driver would be. No event per frame: the peer's NIC model tells what had
// ended.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "keepon/sim/core.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/keepon_transmitter.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class RxRing final : public ReceiveRing
{
public:
	/// \param own, peer  transmitters at both ends of the link
	/// \param propagation_ps  of the wire from the peer
	RxRing(World &world, const std::string &name, const StationSpec &spec,
	       KeeponTransmitter &own, KeeponTransmitter &peer, TimePs propagation_ps,
	       Oscillator &cpu_oscillator, HostCpu &cpu);
	RxRing(const RxRing &) = delete;
	RxRing &operator=(const RxRing &) = delete;

	void Start() override { SchedulePoll(); }
	void OnPeerFrame(std::uint64_t seq, TimePs sfd) override;

	/// PHC time of the frame whose reference plane arrived at \p sfd, ps since the epoch, as
	/// the driver knows it now; nothing if it has not been counted yet or one of the wires may
	/// have been idle since.
	std::optional<std::int64_t> StampPs(TimePs sfd);

	kpn_dual &Dual() { return dual_; }
	const kpn_rx &Rx() const { return rx_; }
	std::int64_t Stamps() const { return stamps_; }
	std::int64_t Unstamped() const { return unstamped_; }
	const Latency &PollLatency() const override { return poll_latency_; }

private:
	/// A real frame of the peer; \p position_ps on its wire once it is counted.
	struct Frame {
		std::uint64_t seq;
		TimePs sfd;
		std::optional<std::uint64_t> position_ps;
	};

	void OnPoll(TimePs, std::uint64_t);
	void Observe();
	kpn_rx_stamp Stamp(TimePs sfd);
	void SchedulePoll();

	World &world_;
	KeeponTransmitter &own_;
	KeeponTransmitter &peer_;
	TimePs propagation_ps_;
	Oscillator &cpu_oscillator_;
	HostCpu &cpu_;
	HostCpu::Thread poll_irq_;
	Latency poll_latency_;
	Rng rng_;
	TimePs read_ps_;
	TimePs lag_ps_min_;
	TimePs lag_ps_max_;
	std::int64_t poll_ps_;
	std::int64_t dither_ps_;
	kpn_rx rx_{};
	kpn_dual dual_{};
	std::int64_t stamps_ = 0;
	std::int64_t unstamped_ = 0;
	TimePs free_ = 0;          // the poller is busy until then
	std::deque<Frame> frames_; // in order of their slots
	std::size_t counted_ = 0;  // of these, from the front
	MemberEvent<&RxRing::OnPoll> poll_{ *this };
};

} // namespace keepon::sim
