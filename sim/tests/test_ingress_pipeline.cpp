// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "checks.hpp"
#include "keepon/sim/ingress_pipeline.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/simulation.hpp"

namespace keepon::sim::test
{

namespace
{

constexpr std::uint32_t kUnknown = 7;
constexpr std::uint32_t kFiltered = 9;

struct Sink final : Receiver {
	virtual ~Sink() = default;
	void OnReceive(NodeId, const Packet &) override {}
};

/// Lets the frames of one stream through until a time.
struct Until final : IngressFilter {
	Until(std::uint32_t which, TimePs last) : stream(which), until(last) {}

	std::uint32_t stream;
	TimePs until;

	std::optional<std::uint32_t> Drops(const Packet &, std::uint32_t of, TimePs now,
					   Treatment &treatment) override
	{
		if (of == stream && now >= until)
			return kFiltered;
		treatment.priority -= of == stream;
		return std::nullopt;
	}
};

Packet To(const FrameHeader &header)
{
	Packet packet;
	packet.header = header;
	return packet;
}

void TestTable(Checks &checks)
{
	AddressTable<std::uint64_t> table;
	Rng rng(1, "test", "addresses");
	EXPECT(!table.Find(5));
	for (std::uint64_t i = 0; i < 5000; i++)
		table[i % 2 ? rng.Next() >> 4 : i << 40] = i;
	rng = Rng(1, "test", "addresses");
	bool found = true;
	for (std::uint64_t i = 0; i < 5000; i++) {
		const std::uint64_t *value = table.Find(i % 2 ? rng.Next() >> 4 : i << 40);
		found = found && value && *value == i;
	}
	EXPECT(found && table.Count() == 5000 && !table.Find(rng.Next() >> 4));
}

void TestDecisions(Checks &checks)
{
	IngressPipeline pipeline(kUnknown);
	Sink sink;
	const FrameHeader one = HeaderOfFlow(1, 6);
	const FrameHeader two = HeaderOfFlow(2, 3);
	for (const std::uint32_t port : { 4u, 2u, 4u })
		pipeline.AddRoute(one, port);
	pipeline.AddRoute(two, 0);
	pipeline.AddReceiver(HeaderOfNeighbour(7), sink);

	IngressPipeline::Decision decision = pipeline.Decide(To(one), 0);
	EXPECT(decision.exits && !decision.receiver);
	if (!decision.exits)
		return;
	const std::vector<IngressPipeline::Exit> exits = *decision.exits;
	EXPECT(exits.size() == 2 && exits.front().port == 4 && exits.front().listeners == 2);
	EXPECT(exits.back().port == 2 && exits.back().listeners == 1);
	EXPECT(decision.queue == 6);
	decision = pipeline.Decide(To(HeaderOfNeighbour(0)), 0);
	EXPECT(decision.receiver == &sink);
	decision = pipeline.Decide(To(HeaderOfFlow(3, 6)), 0);
	EXPECT(!decision.exits && !decision.receiver && decision.place == kUnknown);
	FrameHeader elsewhere = one;
	elsewhere.vid++;
	EXPECT(!pipeline.Decide(To(elsewhere), 0).exits);

	// What the frame says of its priority counts, not which stream it is of.
	pipeline.SetQueue(3, 1);
	FrameHeader lower = one;
	lower.priority = 3;
	EXPECT(pipeline.Decide(To(lower), 0).queue == 1 && pipeline.Decide(To(one), 0).queue == 6);
}

void TestFilters(Checks &checks)
{
	IngressPipeline pipeline(kUnknown);
	pipeline.AddRoute(HeaderOfFlow(1, 6), 0);
	pipeline.AddRoute(HeaderOfFlow(2, 6), 0);
	pipeline.AddFilter(std::make_unique<Until>(1, 100));
	pipeline.AddFilter(std::make_unique<Until>(0, 200));
	EXPECT(pipeline.Decide(To(HeaderOfFlow(1, 6)), 150).exits);
	EXPECT(pipeline.Decide(To(HeaderOfFlow(1, 6)), 150).queue == 5);
	IngressPipeline::Decision decision = pipeline.Decide(To(HeaderOfFlow(2, 6)), 150);
	EXPECT(!decision.exits && decision.place == kFiltered);
	EXPECT(!pipeline.Decide(To(HeaderOfFlow(1, 6)), 200).exits);
	EXPECT(pipeline.Decide(To(HeaderOfFlow(2, 6)), 50).exits);
}

} // namespace

void TestIngressPipeline(Checks &checks)
{
	TestTable(checks);
	TestDecisions(checks);
	TestFilters(checks);
}

} // namespace keepon::sim::test
