// SPDX-License-Identifier: BSD-3-Clause
// An end station: applications, host stages, release, transmitter, listener.
//
//   application --wakeup, stack--> release (txtime | etf) --driver stage--> transmitter --> link
//   end
//
// The host model is the same above every transmitter: frames pass the driver stage in order,
// occupancy_ns apart at least.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keepon/sim/address_table.hpp"
#include "keepon/sim/application.hpp"
#include "keepon/sim/frame_pool.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/host_stages.hpp"
#include "keepon/sim/keepon_transmitter.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/qdisc_tree.hpp"
#include "keepon/sim/release_kind.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/station_clock.hpp"
#include "keepon/sim/sync.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class Station final : public TransmitterSink,
		      public Host,
		      public Onlooker,
		      private QdiscHost,
		      private QdiscBelow
{
public:
	/// \param spec  whose driver is a registered one
	/// \param end  link end of the station, whose byte time and peer are known. Throws
	/// ValueError.
	Station(World &world, NodeId node, std::string name, const StationSpec &spec,
		std::uint32_t end, std::uint64_t rate_bps);
	Station(const Station &) = delete;
	Station &operator=(const Station &) = delete;
	virtual ~Station() = default;

	/// Applications start in the order in which they were added.
	Application &AddApplication(std::unique_ptr<Application> application);
	/// \param listener  index among the listeners of \p flow
	void AddListener(FlowId flow, std::size_t listener);
	/// Frames to \p header's address go to \p receiver.
	void AddReceiver(const FrameHeader &header, Receiver &receiver);
	void Start();

	void OnArrive(std::uint32_t packet);
	bool OnlyCounts(const FrameHeader &header) override;

	// What faults do.
	/// Before the start: one will come.
	void ExpectFault() { faulty_ = true; }
	/// All cores are taken away, by what nobody interrupts.
	void StallCores(TimePs duration);
	/// The next frame of a stream comes late.
	void DelayNextFrame(TimePs late) { late_ps_ = late; }
	void StepClock(std::int64_t delta_ns);

	// What PtpNetwork asks of a station with sync "ptp".
	/// The clock PTP sets or distributes; NULL otherwise.
	NodeClock *Clock() { return ptp_clock_.get(); }
	/// Before the start: by how much the clock is ahead of network time then.
	void SetStartOffset(std::int64_t offset_ns);
	std::int64_t IngressPs() const { return spec_.ingress_latency_ns * kPsPerNs; }
	std::int64_t EgressPs() const { return spec_.egress_latency_ns * kPsPerNs; }
	/// The system clock is set to what the PHC says, and to its rate since the last time.
	void FollowPhc(bool stepped);

	Latency &Stage(HostStage stage, const char *purpose) override
	{
		return stages_.Of(stage, purpose);
	}
	HostCpu &Cpu() override { return cpu_; }
	StationClock &SystemClock() override { return system_ ? system_clock_ : clock_; }
	bool ClockSettles() const override { return sync_.settles; }
	bool TakesTxtimes() const override { return release_.takes_txtimes; }
	bool Refuses() const override { return qdiscs_ != nullptr; }
	TimePs TakeLateness() override { return std::exchange(late_ps_, 0); }
	TxFrame &MakeFrame(FlowId flow, std::int64_t seq) override;
	void Send(TxFrame &frame) override;
	void SendPlain(TxFrame &frame) override;
	EventHandler &DriverEntry() override { return driver_enter_; }

	void OnOutcome(TxFrame &frame, kpn_verdict verdict, TimePs at) override;
	void OnWire(const WireFrame &frame) override;
	void OnDisturbed() override { disturbances_++; }

	const std::string &Name() const { return name_; }
	const StationSpec &Spec() const { return spec_; }
	std::uint32_t End() const { return end_; }
	Transmitter &Tx() { return *transmitter_; }
	/// NULL unless the driver is `keepon`.
	KeeponTransmitter *Keepon() { return dynamic_cast<KeeponTransmitter *>(&*transmitter_); }
	std::int64_t ForeignFrames() const { return foreign_frames_; }
	/// Frames of \p flow that were made and have not ended.
	std::int64_t PendingOf(FlowId flow) const { return pool_.InUse(flow); }
	std::int64_t EtfDrops() const { return timed_ ? timed_->Drops() : 0; }
	/// Of the qdiscs that were asked for, by `qdisc`.
	Counters QdiscCounters() const { return qdiscs_ ? qdiscs_->Counted() : Counters{}; }
	std::int64_t Disturbances() const { return disturbances_; }
	/// How often each stage of the host was gone through, and how often with a tail.
	Counters HostDraws() const { return OfStages(&Latency::Draws); }
	Counters HostTails() const { return OfStages(&Latency::Tails); }

private:
	void OnDriverEnter(TimePs, std::uint64_t frame);
	void OnDriverDone(TimePs, std::uint64_t frame);
	void OnHandedDone(TimePs, std::uint64_t frame);
	void OnSubmit(TimePs, std::uint64_t frame);
	/// The interrupt of the NIC is over, and what its softirq does for one frame.
	void OnRxInterrupt(TimePs, std::uint64_t);
	void OnRxDone(TimePs, std::uint64_t);
	void OnStalled(TimePs, std::uint64_t) {}

	std::int64_t TaiNs() override { return SystemClock().NowNs(world_.now); }
	void SetTimer(std::int64_t tai_ns, EventHandler &handler) override;
	TxFrame &FrameAt(std::uint32_t index) override { return pool_[index]; }
	void Drop(TxFrame &frame, kpn_verdict verdict) override
	{
		frame.refused = &frame == entering_;
		Finish(frame, verdict, world_.now);
	}
	void OnTimerTold() override { etf_events_--; }
	std::uint32_t ByteTimePs() const override { return world_.ends[end_].byte_time_ps; }
	void HandOn(TxFrame &frame) override;
	bool Busy() const override { return sending_; }
	void SendNext();

	/// Who gets the frames of an address: a receiver, or nobody but the account of a flow.
	struct Reception {
		Receiver *receiver = nullptr;
		std::size_t listener = 0; // index among those of the flow
	};

	Counters OfStages(std::int64_t (Latency::*count)() const) const;
	void LeaveDriver(TxFrame &frame, TimePs ready);
	bool Certain(TimePs at) const;
	bool UndisturbedUntil(TimePs at) const;
	void Submit(TxFrame &frame);
	void Receive(std::uint32_t packet);
	void Finish(TxFrame &frame, kpn_verdict verdict, TimePs at);
	/// Through the driver stage, past all qdiscs.
	void ToDriver(TxFrame &frame);
	void MakeClocks(bool has_phc);
	std::int64_t StampNs(TimePs t);

	World &world_;
	NodeId node_;
	std::string name_;
	StationSpec spec_;
	const SyncKind &sync_;
	const ReleaseKind &release_;
	std::uint32_t end_;
	Oscillator nic_oscillator_;
	Oscillator cpu_oscillator_;
	StationClock clock_;        // PHC
	StationClock system_clock_; // with PTP and a NIC that has a PHC
	std::unique_ptr<OscillatorClock> system_;
	std::unique_ptr<NodeClock> ptp_clock_;
	bool followed_ = false;
	std::int64_t followed_phc_ps_ = 0;
	std::int64_t followed_cpu_ps_ = 0;
	HostStages stages_;
	HostCpu cpu_;
	HostCpu::Thread rx_irq_{ cpu_, CpuPriority::kHardIrq };
	HostCpu::Thread rx_softirq_{ cpu_, CpuPriority::kSoftIrq };
	HostCpu::Thread tx_softirq_{ cpu_, CpuPriority::kSoftIrq };
	std::deque<HostCpu::Thread> stalls_;   // one for each core: firmware that has it
	std::deque<std::uint32_t> rx_waiting_; // packets its softirq has not come to
	Latency &driver_;
	Latency &timer_;
	FramePool pool_;
	std::unique_ptr<Transmitter> transmitter_;
	std::unique_ptr<Qdisc> timed_;      // of the release, which takes frames with a txtime
	std::unique_ptr<QdiscTree> qdiscs_; // those of the spec, which take all frames
	const TxFrame *entering_ = nullptr; // the frame that they are given now
	std::deque<std::uint32_t> handed_;  // by them, where cores are contended for
	bool sending_ = false;              // a core is busy with the last of them
	std::int64_t etf_events_ = 0;       // of its timer, those that were moved included
	TimePs driver_free_ = 0;
	std::int64_t leaving_ = 0; // frames for which there is an event at the end of the driver
	bool faulty_ = false;
	TimePs late_ps_ = 0; // injected into the next frame
	std::vector<std::unique_ptr<Application>> applications_;
	AddressTable<Reception> receptions_;
	bool receives_ = false; // there is a receiver
	std::uint32_t unknown_place_;
	std::int64_t foreign_frames_ = 0;
	std::int64_t disturbances_ = 0;
	MemberEvent<&Station::OnDriverEnter> driver_enter_{ *this };
	MemberEvent<&Station::OnDriverDone> driver_done_{ *this };
	MemberEvent<&Station::OnHandedDone> handed_done_{ *this };
	MemberEvent<&Station::OnSubmit> submit_{ *this };
	MemberEvent<&Station::OnRxInterrupt> rx_interrupt_{ *this };
	MemberEvent<&Station::OnRxDone> rx_done_{ *this };
	MemberEvent<&Station::OnStalled> stalled_{ *this };
};

} // namespace keepon::sim
