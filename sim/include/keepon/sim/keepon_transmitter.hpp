// SPDX-License-Identifier: BSD-3-Clause
// The transmitter under test: the real core on a ring NIC. This file is what a driver would be -
// workspace, poll loop, backend operations - in simulated time. All decisions are the core's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/pacer_probe.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/station_clock.hpp"
#include "keepon/sim/sync.hpp"
#include "keepon/sim/transmitter.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// The receive ring of a keepon station, of which its transmitter knows no more.
class ReceiveRing
{
public:
	virtual ~ReceiveRing() = default;
	virtual void Start() = 0;
	/// A slot of the peer carries a real frame: \param seq  slot; \param sfd  when its
	/// reference plane leaves, not in the past
	virtual void OnPeerFrame(std::uint64_t seq, TimePs sfd) = 0;
	virtual const Latency &PollLatency() const = 0;
};

class RxRing;

class KeeponTransmitter final : public Transmitter, private PolledDriver, private KeptClock
{
public:
	/// Throws ValueError with the first problem kpn_config_validate() finds.
	explicit KeeponTransmitter(const TransmitterSetup &setup);
	~KeeponTransmitter() override;

	void AddPause(const WirePause &pause) override;
	void Start() override;
	void OnLinked(Transmitter *peer, TimePs propagation_ps) override;
	void Foresee(TimePs until) override;
	kpn_verdict Submit(TxFrame &frame) override;
	bool TakesAhead(TimePs at) override;
	std::unique_ptr<NodeClock> MakePhc() override;
	bool SetStartOffset(std::int64_t offset_ns) override;
	void StepClock(std::int64_t delta_ns) override { StepPhc(delta_ns); }
	PolledDriver *Polled() override { return this; }
	/// Of all classes together, as the configuration says; of one it may be less.
	std::uint32_t FrameBytesMax() const override;
	/// Longest frame that takes one slot: where trims are anywhere that may be a shorter one.
	std::uint32_t SingleBytes() const;
	std::int64_t OfPolls(std::int64_t (Latency::*count)() const) const override;
	std::int64_t Placeholders() const override;
	Counters NicCounters() const override;

	/// Shift the PHC (a fault, or the first synchronisation).
	void StepPhc(std::int64_t delta_ns);
	/// What a servo would set, too. Not followed by the ideal clock.
	void SetRate(std::int64_t ppb) override;

	const kpn_stats &Stats() const { return *kpn_pacer_stats(pacer_); }
	kpn_state State();
	kpn_bounds Bounds(std::uint32_t rate_ppb, std::uint32_t rate_change_ppb) const;
	const Latency &PollLatency() const { return poll_latency_; }
	std::uint32_t LeadSlots() const { return kpn_pacer_lead_slots(pacer_); }
	const kpn_config &Config() const { return config_; }
	std::uint64_t SlotPs() const { return slot_ps_; }
	PacerProbe &Probe() { return probe_; }

	/// Set the rate as a servo does, in 2^-16 ppm; one beyond the limit is the limit.
	void AdjFine(std::int64_t scaled_ppm);
	/// From now on PhcPs() may be asked for past times.
	void KeepHistory();
	/// PHC at \p t by the law then in force and the true wire position, ps since the epoch.
	/// Exact but for 2^-32 ns and for the time from an underrun to the poll that saw it.
	std::int64_t PhcPs(TimePs t);
	/// What the core says the PHC reads, ps since the epoch; \p at: when, as a poll under way
	/// has to end first.
	std::int64_t GetTimePs(TimePs *at = nullptr);
	// What the receive ring at the other end of the wire asks: the frames of this wire.
	void HearFrames(ReceiveRing &listener) { listener_ = &listener; }
	/// Slots whose end, gap included, was not after \p t, which is not in the future.
	std::uint64_t FramesEnded(TimePs t);
	/// Length of the frame in slot \p seq, FCS included; nominal if that is long past.
	std::uint32_t FrameBytes(std::uint64_t seq) const;

	/// NULL unless its clock is "dual": the receive ring is one, too.
	RxRing *Rx();

	// What the receive ring of this station asks.
	kpn_pacer *Pacer() { return pacer_; }
	/// From now on the PHC is that of both rings.
	void UseBothRings(kpn_dual &dual) { dual_ = &dual; }
	std::uint64_t CpuNsAt(TimePs t);
	/// The same at \p t or at the end of the poll under way, whichever is later.
	std::uint64_t CpuNsNow(TimePs t);
	std::int64_t SinceEpochPs(kpn_time time) const;
	/// After whatever may have changed the pacer: hand on what has ended and occurred, and keep
	/// the law.
	void AfterChange();

	/// How the PHC is read: name of the clock mode.
	const char *ClockName() const;

	/// What the strip knows of the rate of the wire against the CPU counter, ppb: its middle
	/// and how far it may be off now.
	struct RateInterval {
		double middle_ppb;
		double half_ppb;
	};
	/// From how the interval of the head widens over half of what is posted; nothing if that is
	/// less than a microsecond.
	std::optional<RateInterval> RateKnown();

	/// PHC at this moment minus the station's clock, in ps; exact but for 2^-32 ns.
	std::int64_t PhcErrorPs();

private:
	struct Ops; // the backend operations, static functions

	std::uint64_t NicNow() { return static_cast<std::uint64_t>(nic_oscillator_.Local(now_)); }
	void InitPacer();
	void TakeEnded();
	void NoteLaw();
	void SchedulePoll();
	void ScheduleWake();
	void OnPoll(TimePs, std::uint64_t);
	/// A committed frame is about to be fetched.
	void OnNicWake(TimePs time, std::uint64_t);
	/// Compare what the core believes with the truth.
	void OnProbe(TimePs, std::uint64_t);
	void OnRealFrame(const ring_nic_frame &frame);
	void StallPolls(TimePs until) override { stalled_until_ = until; }
	bool RateIsConstant() const override;
	void Synchronise(bool step, TimePs until) override;
	void StepToStart() override { StepPhc(start_offset_ns_); }
	TimePs KeepAgain() override;
	void OnSync(TimePs, std::uint64_t);
	void SyncAgain();
	void MakeConfig(const StationSpec &spec, std::uint64_t rate_bps, std::uint64_t seed);
	/// A clock law and how far the wire is behind the NIC's own time, both valid from a true
	/// time on.
	struct PastLaw {
		TimePs from;
		std::int64_t behind_ps;
		std::uint64_t idle_ps; // as counted by the NIC then
		kpn_clock law;
	};

	World &world_;
	const std::string &name_;
	const StationSpec &spec_;
	Oscillator &nic_oscillator_;
	Oscillator &cpu_oscillator_;
	StationClock &clock_;
	const SyncKind &sync_kind_;
	TransmitterSink &sink_;
	HostCpu &cpu_;
	HostCpu::Thread poll_irq_; // polls by a timer, the default of keepon.ko
	Latency poll_latency_;
	Rng read_rng_;
	Rng probe_rng_;
	TimePs read_ps_;
	kpn_config config_{};
	kpn_nic_caps caps_{};
	std::vector<std::uint16_t> allowed_;
	std::vector<std::uint64_t> pacer_memory_;
	std::vector<std::uint64_t> nic_memory_;
	std::unique_ptr<std::uint8_t[]> buffers_;
	kpn_pacer *pacer_ = nullptr;
	kpn_dual *dual_ = nullptr;
	ReceiveRing *listener_ = nullptr;
	ring_nic *nic_ = nullptr;
	PacerProbe probe_;
	std::uint64_t slot_ps_ = 0;
	std::uint32_t byte_time_ps_ = 0;
	TimePs now_ =
		0; // of the CPU that runs the driver; at or after world.now while a poll lasts
	TimePs stalled_until_ = 0;
	TimePs wake_at_ = kNever;
	TimePs poll_at_ = 0; // the next poll comes then or later
	TimePs sync_at_ = 0; // its clock is set then
	std::int64_t stalls_ = 0;
	std::vector<WirePause> pauses_;
	std::vector<ring_nic_pause> announced_; // the first ones, in NIC time
	TimePs ahead_ps_ = 0; // a slot fetched by now starts within this, or right after a pause
	TimePs paused_until_ = 0; // no pause announced lasts longer
	std::uint64_t index_offset_slots_;
	std::uint64_t cpu_tick_ns_;
	bool keep_history_ = false;
	std::vector<PastLaw> past_;
	std::unique_ptr<ReceiveRing> rx_ring_;
	std::int64_t start_offset_ns_ = 0;
	bool synchronised_once_ = false;
	bool sync_pending_ = false;
	MemberEvent<&KeeponTransmitter::OnSync> sync_{ *this };
	MemberEvent<&KeeponTransmitter::OnPoll> poll_{ *this };
	MemberEvent<&KeeponTransmitter::OnNicWake> nic_wake_{ *this };
	MemberEvent<&KeeponTransmitter::OnProbe> head_probe_{ *this };
};

} // namespace keepon::sim
