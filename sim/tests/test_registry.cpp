// SPDX-License-Identifier: BSD-3-Clause
// A transmitter and a load that nobody but this file knows.
#include <memory>
#include <string>

#include "checks.hpp"
#include "keepon/sim/load.hpp"
#include "keepon/sim/servo.hpp"
#include "keepon/sim/simulation.hpp"
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

} // namespace

void TestRegistry(Checks &checks)
{
	TestLoads(checks);
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
