// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <string>

#include "checks.hpp"
#include "keepon/sim/payload.hpp"
#include "keepon/sim/simulation.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr std::uint32_t kFrameBytes = 200;

/// A talker and a listener with a bridge between them; the first frame of the stream has been
/// handed over.
struct Network {
	Simulation sim{ 1, 1'700'000'000'000'000'000 };
	NodeId talker;
	NodeId bridge;
	NodeId listener;
	FlowId flow;

	Network()
	{
		talker = sim.AddStation("talker", StationSpec());
		bridge = sim.AddBridge("bridge", BridgeSpec());
		listener = sim.AddStation("listener", StationSpec());
		sim.AddLink(talker, bridge, 1'000'000'000, 50);
		sim.AddLink(bridge, listener, 1'000'000'000, 50);
		StreamSpec stream;
		stream.id = std::string(
			"x"); // an assignment of "x" itself is a false -Wrestrict of GCC 12
		stream.talker = talker;
		stream.listeners.assign(1, listener);
		stream.routes = { { bridge } };
		stream.frame_bytes = kFrameBytes;
		flow = sim.AddStream(stream);
		sim.Run(10'500'000, [] {});
	}

	/// Frame 0 goes on the wire once more, with \p zeros bytes from \p at on gone under way to
	/// it.
	void SendTorn(std::size_t at, std::size_t zeros)
	{
		std::array<std::uint8_t, kFrameBytes + 8> data{};
		WritePayload(data.data(), kFrameBytes, talker, sim.FlowAt(flow, true).header, flow,
			     0);
		std::memset(data.data() + at, 0, zeros);
		const TimePs now = sim.NowNs() * kPsPerNs;
		const TimePs sfd = now + 64'000;
		sim.StationAt(talker).PortAt(0).OnWire({ data.data(), kFrameBytes, sfd,
							 sfd + TimePs{ kFrameBytes } * 8'000,
							 true });
		sim.Run(sim.NowNs() + 100'000, [] {});
	}
};

} // namespace

/// The MAC puts the FCS of the torn bytes behind them: no hop can tell, only who compares bytes.
void TestTornFrames(Checks &checks)
{
	Network network;
	const Flow &flow = network.sim.FlowAt(network.flow, true);
	EXPECT(flow.submitted == 1 && flow.delivered[0] == 1 && flow.wrong_bytes == 0 &&
	       flow.torn == 0);

	network.SendTorn(100, 40);
	EXPECT(flow.on_wire == 2 && flow.delivered[0] == 2 && flow.torn == 1 &&
	       flow.wrong_bytes == 1);
	network.SendTorn(0, 6); // its destination
	EXPECT(flow.on_wire == 3 && flow.delivered[0] == 2 && flow.lost.back() == 1);
	EXPECT(network.sim.State().places[flow.lost.size() - 1] == "bridge unknown destination");
	EXPECT(network.sim.StationAt(network.talker).PortAt(0).ForeignFrames() == 0);

	// Nothing left that says whose it is: counted where it left.
	network.SendTorn(0, kFrameBytes);
	EXPECT(flow.on_wire == 3 && flow.delivered[0] == 2);
	EXPECT(network.sim.StationAt(network.talker).PortAt(0).ForeignFrames() == 1);
}

} // namespace keepon::sim::test
