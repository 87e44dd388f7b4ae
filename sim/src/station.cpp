// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/station.hpp"

#include <algorithm>
#include <utility>

#include "keepon/sim/payload.hpp"

namespace keepon::sim
{

Station::Station(World &world, NodeId node, std::string name, const StationSpec &spec,
		 std::shared_ptr<HostCpu> cpu)
	: world_(world), node_(node), name_(std::move(name)), spec_(spec),
	  sync_(*Registry<SyncKind>::Find(spec.sync)),
	  release_(*Registry<ReleaseKind>::Find(spec.release)),
	  cpu_oscillator_(spec.cpu_ppm, spec.wander_ppb_per_s, spec.wander_ppb,
			  Rng(world.seed, name_, "cpu oscillator")),
	  system_clock_(world.epoch_ns, sync_.free_running, cpu_oscillator_),
	  stages_(world.seed, name_, spec_), cpu_(std::move(cpu)),
	  delivers_(spec.guest.host >= 0 || spec.host.deliver.base_ns > 0 ||
		    spec.host.deliver.median_ns > 0),
	  reader_(*cpu_, CpuPriority::kFifo), guest_clock_(world.seed, name_, "guest clock"),
	  unknown_place_(world.Place(name_ + " unknown destination"))
{
	for (std::uint32_t i = 0; i < spec.cpu.cores; i++)
		stalls_.emplace_back(*cpu_, CpuPriority::kHardIrq);
	if (sync_.settles)
		settled_ = std::make_unique<OscillatorClock>(cpu_oscillator_);
}

std::unique_ptr<Port> Station::MakePort(std::uint32_t end, std::uint64_t rate_bps)
{
	const auto number = static_cast<std::uint32_t>(ports_.size());
	if (!spec_.ports.empty() && number >= spec_.ports.size())
		throw ValueError("station " + Quoted(name_) + " has another link, and " +
				 std::to_string(spec_.ports.size()) +
				 " entries of `ports`: give one for each link, or none");
	const bool has_phc = Registry<TransmitterKind>::Find(spec_.driver)->has_phc;
	if (number > 0 && sync_.settles && has_phc)
		throw ValueError("station " + Quoted(name_) +
				 " has another link: each NIC of driver " + Quoted(spec_.driver) +
				 " has a clock of its own, and sync " + Quoted(spec_.sync) +
				 " sets one of a station; use one link");
	return std::make_unique<Port>(PortSetup{ world_, node_, number, end, name_, spec_, rate_bps,
						 cpu_oscillator_, stages_, *cpu_, pool_,
						 applications_, *this });
}

void Station::AddPort(std::unique_ptr<Port> port)
{
	ports_.push_back(std::move(port));
	if (sync_.settles)
		SettleClock(*ports_.back());
	ports_.back()->GoBy(SystemClock());
}

std::string Station::PortName(std::uint32_t port) const
{
	return ports_.size() == 1 ? name_ : name_ + "." + std::to_string(port);
}

Counters Station::OfStages(std::int64_t (Latency::*count)() const) const
{
	std::int64_t polls = 0;
	for (const auto &port : ports_)
		polls += port->OfPolls(count);
	Counters counters{ { "wakeup", stages_.Sum(HostStage::kWakeup, count) },
			   { "stack", stages_.Sum(HostStage::kStack, count) },
			   { "driver", stages_.Sum(HostStage::kDriver, count) },
			   { "timer", stages_.Sum(HostStage::kTimer, count) },
			   { "poll", polls },
			   { "rx", stages_.Sum(HostStage::kRx, count) } };
	if (delivers_) {
		counters.emplace_back("datapath", stages_.Sum(HostStage::kDatapath, count));
		counters.emplace_back("deliver", stages_.Sum(HostStage::kDeliver, count));
	}
	return counters;
}

Application &Station::AddApplication(std::unique_ptr<Application> application)
{
	return *applications_.emplace_back(std::move(application));
}

void Station::AddListener(FlowId flow, std::size_t listener)
{
	receptions_[world_.flows[flow].header.Address()].listener = listener;
}

void Station::AddReceiver(const FrameHeader &header, Receiver &receiver)
{
	receptions_[header.Address()].receiver = &receiver;
	receives_ = true;
}

void Station::SetRecovery(const FrameHeader &header, StreamRecovery recovery)
{
	receptions_[header.Address()].recovery = &recoveries_.emplace_back(std::move(recovery));
	receives_ = true;
}

bool Station::OnlyCounts(const FrameHeader &header)
{
	if (cpu_->Contended() || delivers_)
		return false;
	const Reception *reception = receives_ ? receptions_.Find(header.Address()) : nullptr;
	// Which of several ports a copy comes by first matters.
	return !reception || !(reception->receiver || reception->recovery);
}

void Station::Start()
{
	for (const auto &port : ports_)
		port->Start();
	for (const auto &application : applications_)
		application->Start();
}

TxFrame &Station::MakeFrame(FlowId flow_id, std::int64_t seq)
{
	Flow &flow = world_.flows[flow_id];
	TxFrame &frame = pool_.Take();
	frame.flow = flow_id;
	frame.seq = seq;
	frame.frame.frame_bytes = static_cast<u16>(flow.frame_bytes);
	frame.frame.tc = flow.tc;
	frame.frame.flags = 0;
	frame.frame.txtime_ns = 0;
	frame.assisted = false;
	frame.refused = false;
	WritePayload(pool_.Data(frame), flow.frame_bytes, node_, flow.header, flow_id, seq);
	flow.submitted++;
	return frame;
}

void Station::Receive(Port &port, std::uint32_t index)
{
	const Packet packet = world_.packets[index];
	world_.packets.Free(index);
	const Reception *reception = receptions_.Find(packet.header.Address());
	if (!reception) {
		world_.Lose(node_, packet.flow, packet.seq, unknown_place_, packet.listeners);
		return;
	}
	if (reception->receiver) {
		reception->receiver->OnReceive(node_, packet);
		return;
	}
	if (reception->recovery && packet.header.sequence >= 0) {
		if (const auto place = reception->recovery->Drops(packet, world_.now)) {
			world_.Lose(node_, packet.flow, packet.seq, *place, packet.listeners);
			return;
		}
	}
	const std::size_t l = reception->listener;
	const auto seq = static_cast<std::size_t>(packet.seq);
	Flow &flow = world_.flows[packet.flow];
	if (flow.redundant && flow.records.arrival_ps[l][seq] >= 0) {
		world_.Lose(node_, packet.flow, packet.seq, world_.Place(name_ + " once more"),
			    packet.listeners);
		return;
	}
	world_.Deliver(node_, packet, l);
	if (!flow.is_stream)
		return;
	if (flow.records.arrival_ps[l][seq] >= 0)
		return;
	flow.records.arrival_ps[l][seq] = packet.sfd_ps;
	flow.records.stamp_ns[l][seq] = StampNs(port, packet.sfd_ps);
	if (delivers_)
		Hand(packet.flow, l, seq);
}

/// From the NIC by the datapath, if it is a guest, and its stack to the application, in order.
void Station::Hand(FlowId flow, std::size_t listener, std::size_t seq)
{
	StreamRecords &records = world_.flows[flow].records;
	handed_ = std::max(handed_, world_.now);
	if (spec_.guest.host >= 0)
		handed_ = std::max(handed_,
				   world_.now + Stage(HostStage::kDatapath, "rx datapath").Draw());
	records.handed_ps[listener][seq] = handed_;
	reading_.push_back({ flow, listener, seq });
	reader_.Run(handed_, Stage(HostStage::kDeliver, "deliver").Draw(), read_);
}

void Station::OnRead(TimePs now, std::uint64_t)
{
	const Reading &read = reading_.front();
	world_.flows[read.flow].records.read_ps[read.listener][read.seq] = now;
	reading_.pop_front();
}

TimePs Station::GuestBehind()
{
	const std::int64_t error_ps = spec_.guest.clock_error_ns * kPsPerNs;
	if (error_ps == 0)
		return 0;
	if (world_.now >= guest_until_) {
		guest_behind_ = guest_clock_.Below(2 * error_ps + 1) - error_ps;
		guest_until_ = world_.now + spec_.guest.clock_interval_ns * kPsPerNs;
	}
	return guest_behind_;
}

void Station::StallCores(TimePs duration)
{
	for (HostCpu::Thread &core : stalls_)
		core.Run(world_.now, duration, stalled_);
}

} // namespace keepon::sim
