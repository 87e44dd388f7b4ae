// SPDX-License-Identifier: BSD-3-Clause
// An end station: applications and listeners, the cores and the clock they share, and a port for
// each link.
//
//   application --wakeup, stack--> port of the flow --> link
//   listener <-- any port
//
// A flow leaves by the port of its route (Flow::port). Frames to the station's listeners come in by
// any.
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
#include "keepon/sim/frer.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/host_stages.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/oscillator.hpp"
#include "keepon/sim/port.hpp"
#include "keepon/sim/release_kind.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/station_clock.hpp"
#include "keepon/sim/sync.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class Station final : public Host, public Onlooker, private PortHost
{
public:
	/// \param spec  whose driver, release and sync are registered ones
	/// \param cpu  its cores, of which those of a host are its guests', too
	Station(World &world, NodeId node, std::string name, const StationSpec &spec,
		std::shared_ptr<HostCpu> cpu);
	Station(const Station &) = delete;
	Station &operator=(const Station &) = delete;
	virtual ~Station() = default;

	/// For \p end, a link end of this station; it has it when it is added, before anything
	/// else. Throws ValueError.
	std::unique_ptr<Port> MakePort(std::uint32_t end, std::uint64_t rate_bps);
	void AddPort(std::unique_ptr<Port> port);
	/// Applications start in the order in which they were added.
	Application &AddApplication(std::unique_ptr<Application> application);
	/// \param listener  index among the listeners of \p flow
	void AddListener(FlowId flow, std::size_t listener);
	/// Frames to \p header's address go to \p receiver.
	void AddReceiver(const FrameHeader &header, Receiver &receiver);
	/// Copies of frames to \p header's address end here.
	void SetRecovery(const FrameHeader &header, StreamRecovery recovery);
	/// Before the first frame: it sends some of \p frame_bytes.
	void FitFrames(std::uint32_t frame_bytes) { pool_.Fit(frame_bytes); }
	void Start();

	bool OnlyCounts(const FrameHeader &header) override;

	// What faults do.
	/// Before the start: one will come.
	void ExpectFault()
	{
		for (const auto &port : ports_)
			port->ExpectFault();
	}
	/// All cores are taken away, by what nobody interrupts.
	void StallCores(TimePs duration);
	/// The next frame of a stream comes late.
	void DelayNextFrame(TimePs late) { late_ps_ = late; }
	void StepClock(std::int64_t delta_ns);

	// What PtpNetwork asks of a station with sync "ptp".
	/// The clock PTP sets or distributes; NULL otherwise.
	NodeClock *Clock() { return ptp_clock_; }
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
	HostCpu &Cpu() override { return *cpu_; }
	/// Of several NICs with clocks the first one's, unless PTP sets that.
	StationClock &SystemClock() override
	{
		return follows_ ? system_clock_ : ports_[0]->Clock();
	}
	TimePs GuestBehind() override;
	bool ClockSettles() const override { return sync_.settles; }
	bool TakesTxtimes() const override { return release_.takes_txtimes; }
	bool Refuses(FlowId flow) const override
	{
		return ports_[world_.flows[flow].port]->Refuses();
	}
	TimePs WireTime(FlowId flow, std::uint32_t frame_bytes) const override
	{
		return ports_[world_.flows[flow].port]->WireTime(frame_bytes);
	}
	TimePs TakeLateness() override { return std::exchange(late_ps_, 0); }
	TxFrame &MakeFrame(FlowId flow, std::int64_t seq) override;
	void Send(TxFrame &frame) override { PortOf(frame).Send(frame); }
	void SendPlain(TxFrame &frame) override { PortOf(frame).SendPlain(frame); }
	EventHandler &DriverEntry() override { return driver_enter_; }

	const std::string &Name() const { return name_; }
	/// Whether frames take a while to the application.
	bool Delivers() const { return delivers_; }
	const StationSpec &Spec() const { return spec_; }
	std::deque<StreamRecovery> &Recoveries() { return recoveries_; }
	std::uint32_t Ports() const { return static_cast<std::uint32_t>(ports_.size()); }
	Port &PortAt(std::uint32_t port) { return *ports_[port]; }
	/// The station's if it has one port only.
	std::string PortName(std::uint32_t port) const;
	/// Frames of \p flow that were made and have not ended.
	std::int64_t PendingOf(FlowId flow) const { return pool_.InUse(flow); }
	/// How often each stage of the host was gone through, and how often with a tail.
	Counters HostDraws() const { return OfStages(&Latency::Draws); }
	Counters HostTails() const { return OfStages(&Latency::Tails); }

private:
	void OnDriverEnter(TimePs, std::uint64_t frame)
	{
		SendPlain(pool_[static_cast<std::uint32_t>(frame)]);
	}
	void OnStalled(TimePs, std::uint64_t) {}
	void Hand(FlowId flow, std::size_t listener, std::size_t seq);
	void OnRead(TimePs now, std::uint64_t);

	void Receive(Port &port, std::uint32_t packet) override;

	/// Who gets the frames of an address: a receiver, or the account of a flow alone.
	struct Reception {
		Receiver *receiver = nullptr;
		std::size_t listener = 0; // index among those of the flow
		StreamRecovery *recovery = nullptr;
	};

	Port &PortOf(const TxFrame &frame) { return *ports_[world_.flows[frame.flow].port]; }
	Counters OfStages(std::int64_t (Latency::*count)() const) const;
	void SettleClock(Port &port);
	std::int64_t StampNs(Port &port, TimePs t);

	World &world_;
	NodeId node_;
	std::string name_;
	StationSpec spec_;
	const SyncKind &sync_;
	const ReleaseKind &release_;
	Oscillator cpu_oscillator_;
	StationClock system_clock_;                // with PTP and a NIC that has a PHC
	std::unique_ptr<OscillatorClock> settled_; // with PTP: what the system clock is then
	std::unique_ptr<NodeClock> phc_;           // with PTP, of a NIC that has one
	NodeClock *ptp_clock_ = nullptr;           // that of the two which PTP sets
	bool follows_ = false;                     // the system clock does what the PHC says
	bool followed_ = false;
	std::int64_t followed_phc_ps_ = 0;
	std::int64_t followed_cpu_ps_ = 0;
	HostStages stages_;
	std::shared_ptr<HostCpu> cpu_;
	/// A frame on its way from the NIC to the application.
	struct Reading {
		FlowId flow;
		std::size_t listener;
		std::size_t seq;
	};

	bool delivers_;
	HostCpu::Thread reader_;
	std::deque<Reading> reading_;
	TimePs handed_ = 0; // the last of them
	Rng guest_clock_;
	TimePs guest_behind_ = 0;
	TimePs guest_until_ = 0;             // when it is another
	std::deque<HostCpu::Thread> stalls_; // one for each core: firmware that has it
	FramePool pool_;
	std::vector<std::unique_ptr<Port>> ports_; // in order of the links
	TimePs late_ps_ = 0;                       // injected into the next frame
	std::vector<std::unique_ptr<Application>> applications_;
	AddressTable<Reception> receptions_;
	bool receives_ = false; // there is a receiver or a recovery
	std::deque<StreamRecovery> recoveries_;
	std::uint32_t unknown_place_;
	MemberEvent<&Station::OnDriverEnter> driver_enter_{ *this };
	MemberEvent<&Station::OnStalled> stalled_{ *this };
	MemberEvent<&Station::OnRead> read_{ *this };
};

} // namespace keepon::sim
