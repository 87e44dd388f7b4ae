// SPDX-License-Identifier: BSD-3-Clause
// A transmitter that nobody but this file knows.
#include <memory>
#include <string>

#include "checks.hpp"
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

} // namespace

void TestRegistry(Checks &checks)
{
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
	std::string said;
	try {
		other.AddStation("a", spec);
	} catch (const ValueError &error) {
		said = error.what();
	}
	EXPECT(said.find("driver = \"fast\" is not one of \"keepon\"") != std::string::npos);
}

} // namespace keepon::sim::test
