// SPDX-License-Identifier: BSD-3-Clause
// A port of a station: everything between its applications and one link.
//
//   Send() --> release (txtime | etf) --+
//   SendPlain() --> qdiscs, if any -----+--> driver stage --> transmitter --> link end
//
// A station has one for each of its links. What they share - applications, cores, frames, the clock
// that applications go by - belongs to the station. A port has its NIC with crystal and clock, its
// queues, and draws of its own, so that what one does leaves the others alone. The host model is
// the same above every transmitter: frames pass the driver stage in order, occupancy_ns apart at
// least.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "keepon/sim/application.hpp"
#include "keepon/sim/frame_pool.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/host_stages.hpp"
#include "keepon/sim/keepon_transmitter.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/qdisc_tree.hpp"
#include "keepon/sim/release_kind.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/station_clock.hpp"
#include "keepon/sim/sync.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class Port;

/// What a port asks of its station.
class PortHost
{
public:
	/// Software has seen \p packet, which arrived at \p port.
	virtual void Receive(Port &port, std::uint32_t packet) = 0;
	virtual TimePs GuestBehind() = 0;

protected:
	~PortHost() = default;
};

/// What a port is made of; all of it outlives the port.
struct PortSetup {
	World &world;
	NodeId node;
	std::uint32_t number;    // among those of its station
	std::uint32_t end;       // its link end, whose byte time and peer are known
	const std::string &name; // of the station
	const StationSpec &spec; // of the station
	std::uint64_t rate_bps;
	Oscillator &cpu_oscillator;
	HostStages &stages;
	HostCpu &cpu;
	FramePool &pool;
	const std::vector<std::unique_ptr<Application>> &applications;
	PortHost &host;
};

class Port final : public TransmitterSink, private QdiscHost, private QdiscBelow
{
public:
	/// Throws ValueError.
	explicit Port(const PortSetup &setup);
	Port(const Port &) = delete;
	Port &operator=(const Port &) = delete;
	virtual ~Port() = default;

	/// Before the start: the clock that applications go by.
	void GoBy(StationClock &clock) { system_clock_ = &clock; }
	/// Before the start: a fault will come.
	void ExpectFault() { faulty_ = true; }
	void Start();
	void Send(TxFrame &frame);
	void SendPlain(TxFrame &frame);
	TimePs WireTime(std::uint32_t frame_bytes) const
	{
		return static_cast<TimePs>(nic_wire_frame_ps(frame_bytes, ByteTimePs()));
	}
	void OnArrive(std::uint32_t packet);

	void OnOutcome(TxFrame &frame, kpn_verdict verdict, TimePs at) override;
	void OnWire(const WireFrame &frame) override;
	void OnDisturbed() override { disturbances_++; }

	/// That of the NIC, or the system's if it has none.
	StationClock &Clock() { return clock_; }
	Oscillator &NicOscillator() { return nic_oscillator_; }
	std::uint32_t End() const { return end_; }
	const StationSpec &Spec() const { return spec_; }
	Transmitter &Tx() { return *transmitter_; }
	/// NULL unless the driver is `keepon`.
	KeeponTransmitter *Keepon() { return dynamic_cast<KeeponTransmitter *>(&*transmitter_); }
	std::int64_t OfPolls(std::int64_t (Latency::*count)() const) const
	{
		return transmitter_->OfPolls(count);
	}
	bool Refuses() const { return qdiscs_ != nullptr; }
	std::int64_t ForeignFrames() const { return foreign_frames_; }
	std::int64_t EtfDrops() const { return timed_ ? timed_->Drops() : 0; }
	/// Of the qdiscs that were asked for, by `qdisc`.
	Counters QdiscCounters() const { return qdiscs_ ? qdiscs_->Counted() : Counters{}; }
	std::int64_t Disturbances() const { return disturbances_; }

private:
	void OnDriverDone(TimePs, std::uint64_t frame);
	void OnHandedDone(TimePs, std::uint64_t frame);
	void OnSubmit(TimePs, std::uint64_t frame);
	/// The interrupt of the NIC is over, and what its softirq does for one frame.
	void OnRxInterrupt(TimePs, std::uint64_t);
	void OnRxDone(TimePs, std::uint64_t);

	std::int64_t TaiNs() override { return system_clock_->NowNs(world_.now); }
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
	bool HasRoom(const TxFrame &frame) override
	{
		return transmitter_->HasRoomFor(frame, in_flight_);
	}
	void Later(const TxFrame &frame, EventHandler &handler) override
	{
		const TimePs room = transmitter_->RoomAt();
		const TimePs sent = world_.now + WireTime(frame.frame.frame_bytes);
		world_.events.Push(room == kNever ? sent : room, handler);
	}
	void SendNext();

	void LeaveDriver(TxFrame &frame, TimePs ready);
	bool Certain(TimePs at) const;
	bool UndisturbedUntil(TimePs at) const;
	void Submit(TxFrame &frame);
	void Finish(TxFrame &frame, kpn_verdict verdict, TimePs at);
	/// Through the driver stage, past all qdiscs.
	void ToDriver(TxFrame &frame);

	World &world_;
	NodeId node_;
	std::uint32_t number_;
	std::uint32_t end_;
	StationSpec spec_; // the station's, with what is this port's own
	std::string name_; // by which it draws: the first has the station's
	const SyncKind &sync_;
	const ReleaseKind &release_;
	PortHost &host_;
	HostCpu &cpu_;
	FramePool &pool_;
	const std::vector<std::unique_ptr<Application>> &applications_;
	Oscillator nic_oscillator_;
	StationClock clock_;
	StationClock *system_clock_ = &clock_;
	HostCpu::Thread rx_irq_{ cpu_, CpuPriority::kHardIrq };
	HostCpu::Thread rx_softirq_{ cpu_, CpuPriority::kSoftIrq };
	HostCpu::Thread tx_softirq_{ cpu_, CpuPriority::kSoftIrq };
	std::deque<std::uint32_t> rx_waiting_; // packets its softirq has not come to
	Latency &driver_;
	Latency &timer_;
	Latency *datapath_; // of a guest
	std::unique_ptr<Transmitter> transmitter_;
	std::unique_ptr<Qdisc> timed_;      // of the release, which takes frames with a txtime
	std::unique_ptr<QdiscTree> qdiscs_; // those of the spec, which take all frames
	const TxFrame *entering_ = nullptr; // the frame that they are given now
	std::deque<std::uint32_t> handed_;  // by them, where cores are contended for
	bool sending_ = false;              // a core is busy with the last of them
	std::int64_t etf_events_ = 0;       // of its timer, those that were moved included
	TimePs driver_free_ = 0;
	bool faulty_ = false;
	std::size_t in_flight_ = 0; // frames that qdiscs have handed on and the driver has not
	std::int64_t leaving_ = 0;  // frames for which there is an event at the end of the driver
	std::int64_t foreign_frames_ = 0;
	std::int64_t disturbances_ = 0;
	MemberEvent<&Port::OnDriverDone> driver_done_{ *this };
	MemberEvent<&Port::OnHandedDone> handed_done_{ *this };
	MemberEvent<&Port::OnSubmit> submit_{ *this };
	MemberEvent<&Port::OnRxInterrupt> rx_interrupt_{ *this };
	MemberEvent<&Port::OnRxDone> rx_done_{ *this };
};

} // namespace keepon::sim
