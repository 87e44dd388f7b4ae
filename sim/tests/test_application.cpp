// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "checks.hpp"
#include "keepon/sim/application.hpp"
#include "keepon/sim/simulation.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr TimePs kMs = 1'000'000'000;
constexpr std::uint32_t kFrameBytes = 100;

/// Sends a frame each millisecond and answers none; hears of each of its own three times.
class Pinger final : public Application, public Receiver
{
public:
	Pinger(World &world, Host &host, FlowId flow) : world_(world), host_(host), flow_(flow) {}

	void Start() override { world_.events.Push(kMs, timer_); }
	void OnSubmit(FlowId flow, std::int64_t seq, TimePs at) override
	{
		submitted += flow == flow_ && seq == sent - 1 && at == world_.now;
	}
	void OnWire(FlowId flow, std::int64_t, TimePs sfd, TimePs complete) override
	{
		on_wire += flow == flow_ && complete - sfd == TimePs{ kFrameBytes } * 8000;
	}
	void OnOutcome(const TxFrame &frame, kpn_verdict verdict) override
	{
		ended += frame.flow == flow_ && kpn_verdict_is_sent(verdict);
	}
	void OnReceive(NodeId node, const Packet &packet) override
	{
		world_.Deliver(node, packet, 0);
		answers++;
		round_trip = world_.now - started_;
	}

	std::int64_t sent = 0;
	std::int64_t submitted = 0;
	std::int64_t on_wire = 0;
	std::int64_t ended = 0;
	std::int64_t answers = 0;
	TimePs round_trip = 0;

private:
	void OnTimer(TimePs now, std::uint64_t)
	{
		started_ = now;
		host_.SendPlain(host_.MakeFrame(flow_, sent++));
		world_.events.Push(now + kMs, timer_);
	}

	World &world_;
	Host &host_;
	FlowId flow_;
	TimePs started_ = 0;
	MemberEvent<&Pinger::OnTimer> timer_{ *this };
};

/// Answers each frame, 50 us later.
class Ponger final : public Application, public Receiver
{
public:
	Ponger(World &world, Host &host, FlowId flow) : world_(world), host_(host), flow_(flow) {}

	void OnReceive(NodeId node, const Packet &packet) override
	{
		world_.Deliver(node, packet, 0);
		const TxFrame &frame = host_.MakeFrame(flow_, packet.seq);
		thread_.Run(world_.now, 50'000'000, host_.DriverEntry(), frame.index);
	}

private:
	World &world_;
	Host &host_;
	FlowId flow_;
	HostCpu::Thread thread_{ host_.Cpu(), CpuPriority::kNormal };
};

} // namespace

/// Two applications that know each other's flow only, over a bridge.
void TestApplication(Checks &checks)
{
	Simulation sim(1, 1'700'000'000'000'000'000);
	const NodeId a = sim.AddStation("a", StationSpec());
	const NodeId b = sim.AddStation("b", StationSpec());
	const NodeId bridge = sim.AddBridge("bridge", BridgeSpec());
	sim.AddLink(a, bridge, 1'000'000'000, 50);
	sim.AddLink(bridge, b, 1'000'000'000, 50);
	FlowSpec there;
	there.id = std::string("there");
	there.talker = a;
	there.listener = b;
	there.route.assign(1, bridge);
	there.frame_bytes = kFrameBytes;
	FlowSpec back = there;
	back.id = std::string("back");
	back.talker = b;
	back.listener = a;
	const FlowId ping = sim.AddFlow(there);
	const FlowId pong = sim.AddFlow(back);
	Station &host = sim.StationAt(a);
	auto pinger = std::make_unique<Pinger>(sim.Shared(), host, ping);
	Pinger &one = *pinger;
	auto ponger = std::make_unique<Ponger>(sim.Shared(), sim.StationAt(b), pong);
	sim.SetReceiver(ping, *ponger);
	sim.SetReceiver(pong, one);
	sim.SetSource(pong, sim.StationAt(b).AddApplication(std::move(ponger)));
	sim.SetSource(ping, host.AddApplication(std::move(pinger)));
	sim.Run(10'500'000, [] {});

	EXPECT(one.sent == 10 && one.submitted == 10 && one.on_wire == 10 && one.answers == 10);
	EXPECT(one.ended == sim.FlowAt(ping, false).verdicts[KPN_VERDICT_BEST_EFFORT]);
	EXPECT(sim.FlowAt(ping, false).delivered[0] == 10);
	EXPECT(sim.FlowAt(pong, false).delivered[0] == 10);
	// Both ways: twice fetched and the frame, processed by the bridge in between; 50 us there.
	const BridgeSpec plain;
	const TimePs frame_ps = TimePs{ 8 + kFrameBytes } * 8000;
	const TimePs way_ps = StationSpec().nic.fetch_ns * kPsPerNs + 2 * frame_ps + 2 * 50'000 +
			      plain.processing_ns * kPsPerNs;
	EXPECT(one.round_trip >= 2 * way_ps + 50'000'000 &&
	       one.round_trip < 2 * (way_ps + 8000) + 50'000'000);
}

} // namespace keepon::sim::test
