// SPDX-License-Identifier: BSD-3-Clause
// One of each sort of block, known to this file alone.
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>

#include "checks.hpp"
#include "keepon/sim/fault.hpp"
#include "keepon/sim/leaf_kind.hpp"
#include "keepon/sim/load.hpp"
#include "keepon/sim/release_kind.hpp"
#include "keepon/sim/servo.hpp"
#include "keepon/sim/simulation.hpp"
#include "keepon/sim/sync.hpp"
#include "keepon/sim/transmitter.hpp"

namespace keepon::sim::test
{

namespace
{

/// Sends what it is given as soon as the wire is free, and says so at once.
class PlainTransmitter final : public Transmitter
{
public:
	explicit PlainTransmitter(const TransmitterSetup &setup)
		: world_(setup.world),
		  mac_(setup.nic_oscillator, kpn_byte_time_ps(setup.rate_bps), 1), sink_(setup.sink)
	{
	}

	void AddPause(const WirePause &pause) override { mac_.AddPause(pause); }
	void Start() override {}
	kpn_verdict Submit(TxFrame &frame) override
	{
		const Transmission sent = mac_.Send(frame.frame.frame_bytes, world_.now);
		sink_.OnWire(OnTheWire(frame, sent, mac_));
		return KPN_VERDICT_BEST_EFFORT;
	}
	Counters NicCounters() const override { return {}; }

private:
	World &world_;
	Mac mac_;
	TransmitterSink &sink_;
};

std::unique_ptr<Transmitter> Make(const TransmitterSetup &setup)
{
	return std::make_unique<PlainTransmitter>(setup);
}

const Registry<TransmitterKind>::Entry kEntry{ "plain", { Make, false } };

/// Hands over window_frames at the start, and no more.
class Burst final : public Application
{
public:
	explicit Burst(const LoadSetup &setup)
		: world_(setup.world), host_(setup.host), flow_(setup.flow),
		  frames_(setup.spec.window_frames)
	{
	}

	void Start() override { world_.events.Push(world_.now, send_); }

private:
	void OnSend(TimePs, std::uint64_t)
	{
		for (std::int64_t seq = 0; seq < frames_; seq++)
			host_.SendPlain(host_.MakeFrame(flow_, seq));
	}

	World &world_;
	Host &host_;
	FlowId flow_;
	std::int64_t frames_;
	MemberEvent<&Burst::OnSend> send_{ *this };
};

std::unique_ptr<Application> MakeBurst(const LoadSetup &setup)
{
	return std::make_unique<Burst>(setup);
}

std::string BurstProblem(const LoadSpec &spec)
{
	return spec.window_frames > 9 ?
		       "window_frames = " + std::to_string(spec.window_frames) + " is above 9" :
		       "";
}

const Registry<LoadKind>::Entry kBurst{ "burst", { MakeBurst, BurstProblem } };

/// Keeps each frame for 10 us, whatever its txtime.
class Delay final : public Qdisc
{
public:
	static constexpr std::int64_t kNs = 10'000;

	Delay(QdiscHost &host, QdiscBelow &driver) : host_(host), driver_(driver) {}

	void Enqueue(TxFrame &frame) override
	{
		waiting_.push_back(frame.index);
		host_.SetTimer(host_.TaiNs() + kNs, timer_);
	}

private:
	void OnTimer(TimePs, std::uint64_t)
	{
		host_.OnTimerTold();
		TxFrame &frame = host_.FrameAt(waiting_.front());
		waiting_.pop_front();
		driver_.HandOn(frame);
	}

	QdiscHost &host_;
	QdiscBelow &driver_;
	std::deque<std::uint32_t> waiting_;
	MemberEvent<&Delay::OnTimer> timer_{ *this };
};

std::unique_ptr<Qdisc> MakeDelay(const ReleaseSetup &setup)
{
	return std::make_unique<Delay>(setup.host, setup.driver);
}

const Registry<ReleaseKind>::Entry kDelay{ "delay", { true, MakeDelay } };

std::unique_ptr<Qdisc> MakeDelayLeaf(const LeafSetup &setup)
{
	return std::make_unique<Delay>(setup.host, setup.below);
}

const Registry<LeafKind>::Entry kDelayLeaf{ "delay", { MakeDelayLeaf } };

/// Steps the clock at every interval and leaves its rate alone.
void KeepBySteps(KeptClock &clock, bool)
{
	clock.Synchronise(true, kNever);
	clock.KeepAgain();
}

const Registry<SyncKind>::Entry kSteps{ "steps", { false, false, false, KeepBySteps } };

/// A station hears nothing for value_ns, and is heard.
std::string DeafProblem(const FaultTarget &target, const FaultSpec &spec)
{
	return spec.value_ns > 5'000'000 ? "deaf for more than 5 ms" :
					   DurationFaultProblem(target, spec);
}

void GoDeaf(const FaultTarget &target, const FaultSpec &spec)
{
	LinkEnd &end = target.world.ends[target.port->End()];
	end.down_ps = target.world.now;
	end.up_ps = target.world.now + spec.value_ns * kPsPerNs;
}

const Registry<FaultKind>::Entry kDeaf{ "deaf", { DeafProblem, ExpectFault, GoDeaf } };

template <class What>
std::string Said(What what)
{
	try {
		what();
	} catch (const ValueError &error) {
		return error.what();
	}
	return "";
}

void TestLoads(Checks &checks)
{
	Simulation sim(1, 0);
	const NodeId talker = sim.AddStation("talker", StationSpec());
	const NodeId listener = sim.AddStation("listener", StationSpec());
	sim.AddLink(talker, listener, 1'000'000'000, 50);
	LoadSpec load;
	load.id = std::string("x");
	load.talker = talker;
	load.listener = listener;
	load.kind = std::string("burst");
	load.window_frames = 10;
	EXPECT(Said([&] { sim.AddLoad(load); }) == "load \"x\": window_frames = 10 is above 9");
	load.window_frames = 9;
	const FlowId flow = sim.AddLoad(load);
	load.kind = std::string("icmp");
	EXPECT(Said([&] { sim.AddLoad(load); }) ==
	       "load \"x\": kind = \"icmp\" is not one of \"burst\" \"saturate\" \"udp\" \"tcp\"");
	sim.Run(1'000'000, [] {});
	EXPECT(sim.FlowAt(flow, false).delivered[0] == 9);
	EXPECT(Registry<ServoKind>::Names() == "\"linreg\" \"pi\" \"ratio\"");
}

/// A stream of a frame each millisecond from the first station to the second, and back.
struct Both {
	explicit Both(const StationSpec &spec)
	{
		nodes[0] = sim.AddStation("a", spec);
		nodes[1] = sim.AddStation("b", StationSpec());
		sim.AddLink(nodes[0], nodes[1], 1'000'000'000, 50);
		for (std::size_t i = 0; i < 2; i++) {
			StreamSpec stream;
			stream.id = std::string(i == 0 ? "there" : "back");
			stream.talker = nodes[i];
			stream.listeners = { nodes[1 - i] };
			stream.routes = { {} };
			stream.advance_ns = 0;
			flows[i] = sim.AddStream(stream);
		}
	}

	Simulation sim{ 1, 1'700'000'000'000'000'000 };
	NodeId nodes[2];
	FlowId flows[2];
};

/// A station of \p spec hands frames to its driver Delay::kNs later than one of the defaults.
void TestDelay(Checks &checks, const StationSpec &spec)
{
	Both plain{ StationSpec() };
	Both delayed(spec);
	for (Both *both : { &plain, &delayed })
		both->sim.Run(15'500'000, [] {});
	for (std::size_t seq = 0; seq < 6; seq++)
		EXPECT(delayed.sim.FlowAt(delayed.flows[0], true).records.submit_ps[seq] ==
		       plain.sim.FlowAt(plain.flows[0], true).records.submit_ps[seq] +
			       Delay::kNs * kPsPerNs);
	EXPECT(delayed.sim.FlowAt(delayed.flows[0], true).delivered[0] == 6);
}

void TestLeaves(Checks &checks)
{
	StationSpec spec;
	spec.qdisc.emplace();
	spec.qdisc->queue_of_class.assign(KPN_CLASS_COUNT, 0);
	LeafSpec &leaf = spec.qdisc->leaves.emplace_back();
	leaf.kind = std::string("delay");
	TestDelay(checks, spec);
	EXPECT(Registry<LeafKind>::Names() == "\"delay\" \"etf\" \"fifo\" \"guard\"");
	leaf.kind = std::string("tbf");
	Simulation other(1, 0);
	EXPECT(Said([&] { other.AddStation("a", spec); }) ==
	       "station \"a\": kind of a qdisc = \"tbf\" is not one of " +
		       Registry<LeafKind>::Names());
}

void TestReleases(Checks &checks)
{
	StationSpec spec;
	spec.release = std::string("delay");
	TestDelay(checks, spec);
	EXPECT(Registry<ReleaseKind>::Names() == "\"delay\" \"etf\" \"sleep\" \"txtime\"");
	Simulation other(1, 0);
	spec.release = std::string("soon");
	EXPECT(Said([&] { other.AddStation("a", spec); }) ==
	       "station \"a\": release = \"soon\" is not one of " + Registry<ReleaseKind>::Names());
}

/// A crystal that is 50 ppm fast, and a step each 10 ms: a step of 500 ns.
void TestSyncs(Checks &checks)
{
	StationSpec spec;
	spec.driver = std::string("keepon");
	spec.nic_ppm = 50;
	spec.keepon.slot_bytes = 230;
	spec.sync_interval_ns = 10'000'000;
	spec.sync = std::string("steps");
	Both both(spec);
	KeeponTransmitter &keepon = *both.sim.StationAt(both.nodes[0]).PortAt(0).Keepon();
	// The clock is set first at 1 ms.
	for (std::int64_t set_ns = 31'000'000; set_ns < 100'000'000; set_ns += 10'000'000) {
		both.sim.Run(set_ns - 100'000, [] {});
		const std::int64_t before_ps = std::abs(keepon.PhcErrorPs());
		EXPECT(before_ps > 480'000 && before_ps < 510'000);
		both.sim.Run(set_ns + 100'000, [] {});
		EXPECT(std::abs(keepon.PhcErrorPs()) < 20'000);
	}
	EXPECT(Registry<SyncKind>::Names() == "\"ideal\" \"none\" \"ptp\" \"steps\"");
	Simulation other(1, 0);
	spec.sync = std::string("ntp");
	EXPECT(Said([&] { other.AddStation("a", spec); }) ==
	       "station \"a\": sync = \"ntp\" is not one of " + Registry<SyncKind>::Names());
}

void TestFaults(Checks &checks)
{
	Both both{ StationSpec() };
	FaultSpec fault{ "deaf", both.nodes[0], 11'500'000, 5'000'001 };
	EXPECT(Said([&] { both.sim.AddFault(fault); }) ==
	       "fault on \"a\": deaf for more than 5 ms");
	fault.value_ns = 2'000'000;
	both.sim.AddFault(fault);
	fault.kind = std::string("fire");
	EXPECT(Said([&] { both.sim.AddFault(fault); }) ==
	       "fault on \"a\": kind = \"fire\" is not one of " + Registry<FaultKind>::Names());
	both.sim.Run(15'500'000, [] {});
	EXPECT(both.sim.FlowAt(both.flows[0], true).delivered[0] == 6);
	EXPECT(both.sim.FlowAt(both.flows[1], true).delivered[0] == 4);
	EXPECT(Registry<FaultKind>::Names() ==
	       "\"clock-step\" \"cpu-stall\" \"deaf\" \"late-submit\" \"link-down\" \"lost-sync\" "
	       "\"poll-stall\" \"rate-step\" \"wire-pause\"");
}

} // namespace

void TestRegistry(Checks &checks)
{
	TestLoads(checks);
	TestReleases(checks);
	TestLeaves(checks);
	TestSyncs(checks);
	TestFaults(checks);
	Simulation sim(1, 1'700'000'000'000'000'000);
	StationSpec spec;
	spec.driver = std::string("plain");
	const NodeId talker = sim.AddStation("talker", spec);
	const NodeId listener = sim.AddStation("listener", StationSpec());
	sim.AddLink(talker, listener, 1'000'000'000, 50);
	StreamSpec stream;
	stream.id = std::string("x");
	stream.talker = talker;
	stream.listeners = { listener };
	stream.routes = { {} };
	stream.advance_ns = 0;
	const FlowId flow = sim.AddStream(stream);
	sim.Run(15'500'000, [] {});
	EXPECT(sim.FlowAt(flow, true).delivered[0] == 6);
	const StreamRecords &records = sim.FlowAt(flow, true).records;
	EXPECT(records.wire_ps[0] == records.submit_ps[0] + 8 * 8000);

	// By now all that belong to the simulator are there, and no other.
	EXPECT(Registry<TransmitterKind>::Names() ==
	       "\"keepon\" \"launchtime\" \"plain\" \"standard\"");
	Simulation other(1, 0);
	spec.driver = std::string("fast");
	const std::string said = Said([&] { other.AddStation("a", spec); });
	EXPECT(said.find("driver = \"fast\" is not one of \"keepon\"") != std::string::npos);
}

} // namespace keepon::sim::test
