// SPDX-License-Identifier: BSD-3-Clause
// A NIC with launch times, after the Intel i210 (datasheet 333016 sections 7.2.2.2.3 and 7.2.7.5):
// descriptors in order; a frame fetched before its launch time waits for it and holds up those
// behind; one fetched after it is sent at once. The comparator sees SYSTIML[29:5], so a frame
// starts at the first multiple of 32 ns that is not before its launch time, by the PHC, and on a
// byte tick of the NIC's own oscillator. Frames without launch time use a second queue; one of them
// may be on the wire when a launch comes. The driver asks for txtime minus the preamble, so that
// the reference plane is what meets the txtime (KeepON paper section 6.2, I11).
//
// The comparator tells half a second ahead from half a second ago, so the driver keeps what is
// farther ahead, in order of launch, and puts it in the ring when it is not any more (M15). What is
// in the ring stays in its order: an earlier launch behind a later one is refused (M14).
//
// With taprio offloaded to it (flags 0x2, as to an i225) it has a ring for each transmit queue, and
// a gate before each, by its PHC: a frame begins when it ends before its gate closes.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "keepon/sim/egress_port.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/station_clock.hpp"
#include "keepon/sim/transmitter.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class LaunchtimeTransmitter final : public Transmitter, private EgressPort::Owner
{
public:
	static constexpr std::int64_t kComparatorNs = 32;
	static constexpr TimePs kHorizonPs = kNsPerS * kPsPerNs / 2;

	explicit LaunchtimeTransmitter(const TransmitterSetup &setup);

	void AddPause(const WirePause &pause) override { port_.Wire().AddPause(pause); }
	void Start() override {}
	void OnlyTxtimes() override { alone_ = true; }
	kpn_verdict Submit(TxFrame &frame) override;
	bool HasRoomFor(const TxFrame &frame, std::size_t coming) override;
	bool TakesAhead(TimePs at) override;
	std::unique_ptr<NodeClock> MakePhc() override;
	Counters NicCounters() const override;

private:
	/// Launches go first; strict priority does what the data sheet says of the two queues.
	static constexpr int kLaunches = 1;
	static constexpr int kOthers = 0;

	/// One of the rings.
	struct Ring {
		TimePs ready = 0;                        // the last frame has been fetched
		std::int64_t last_txtime_ns = INT64_MIN; // of what is or was in it
	};
	/// The gate before a ring.
	class Gate final : public TransmissionSelection
	{
	public:
		Gate(const Gates &gates, int queue, StationClock &clock, const Mac &mac)
			: gates_(gates), queue_(queue), clock_(clock), mac_(mac)
		{
		}
		TimePs EligibleAt(const QueuedFrame &head, TimePs now) override;
		void OnSent(const QueuedFrame &, TimePs, TimePs) override {}

	private:
		const Gates &gates_;
		int queue_;
		StationClock &clock_;
		const Mac &mac_;
	};

	void MakeGates(const TransmitterSetup &setup);
	int QueueOf(const TxFrame &frame) const;
	bool Fits(int queue, const TxFrame &frame) const;

	TimePs LaunchOf(const TxFrame &frame);
	/// \return KPN_VERDICT_PENDING if it is in the ring
	kpn_verdict Post(TxFrame &frame);
	void OnHorizon(TimePs, std::uint64_t);
	bool HasRoom(int queue, TimePs at, std::size_t coming = 0);
	void Sent(TxFrame &frame, const Transmission &sent, TimePs begin);
	void OnTransmit(EgressPort &port, const QueuedFrame &frame,
			const Transmission &sent) override;
	void OnNeverFits(EgressPort &, const QueuedFrame &) override {} // it has no gates

	World &world_;
	NicSpec spec_;
	EgressPort port_;
	StationClock &clock_;
	Oscillator &oscillator_;
	std::int64_t stamp_resolution_ns_;
	bool settles_;       // its clock is set in the course of the run
	bool alone_ = false; // all frames are launches: nothing gets between them
	Fifo<TimePs> begun_; // when frames that were sent ahead of time have left the ring
	Rng fetch_rng_;
	TransmitterSink &sink_;
	std::multimap<TimePs, TxFrame *> deferred_; // by launch
	std::array<Ring, EgressPort::kQueues> rings_;
	Gates gates_; // with taprio offloaded
	std::vector<std::uint32_t> queue_of_class_;
	std::int64_t frames_ = 0;
	std::int64_t frame_bytes_ = 0;
	std::int64_t late_launches_ = 0;
	std::int64_t deferrals_ = 0;
	std::int64_t out_of_order_ = 0;
	MemberEvent<&LaunchtimeTransmitter::OnHorizon> horizon_{ *this };
};

} // namespace keepon::sim
