// SPDX-License-Identifier: BSD-3-Clause
// Runs a network that bench/ns3_peer.py describes in ns-3 and prints, as JSON, what it cost and
// what was counted. One line each, names before they are used:
//
//	until_ns END
//	station NAME
//	bridge NAME PROCESSING_NS
//	link NAME NAME RATE_BPS PROPAGATION_NS
//	slots STATION SLOT_BYTES SLOT_NS PHASE_NS
//	stream ID FRAME_BYTES PERIOD_NS FIRST_NS TALKER BRIDGE... LISTENER
#include <sys/resource.h>

#include <ctime>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

#include "frame.hpp"
#include "nodes.hpp"

namespace
{

using namespace bench;
using Device = ns3::Ptr<ns3::PointToPointNetDevice>;

struct Link {
	Device here;
	Device there;
	std::uint64_t rate_bps;
};

class Network
{
public:
	/// Read one line of the description.
	void Read(const std::string &line);
	void Run();
	void Print() const;

private:
	void ReadLink(std::istream &in);
	void ReadSlots(std::istream &in);
	void ReadStream(std::istream &in);
	Device Add(const std::string &name, std::uint64_t rate_bps);
	void Connect(Stream &stream);
	void PrintStream(const Stream &stream) const;

	std::int64_t m_until_ns = 0;
	double m_cpu_s = 0;
	std::map<std::string, ns3::Ptr<ns3::Node>> m_nodes;
	std::map<std::string, std::unique_ptr<Bridge>> m_bridges;
	std::map<std::pair<std::string, std::string>, Link> m_links; // by node and neighbour
	std::map<std::string, std::unique_ptr<SaturatedTalker>> m_saturated;
	std::map<std::string, ns3::Ptr<PlaceholderErrorModel>> m_first_hops; // by talker
	std::map<std::string, std::unique_ptr<Listener>> m_listeners;
	std::vector<std::unique_ptr<Talker>> m_talkers;
	std::vector<Stream> m_streams;
};

double CpuSeconds()
{
	timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void Network::Read(const std::string &line)
{
	std::istringstream in(line);
	std::string kind;
	std::string name;
	std::int64_t processing_ns = 0;

	in >> kind;
	if (kind == "until_ns") {
		in >> m_until_ns;
	} else if (kind == "station" && in >> name) {
		m_nodes[name] = ns3::CreateObject<ns3::Node>();
	} else if (kind == "bridge" && in >> name >> processing_ns) {
		m_nodes[name] = ns3::CreateObject<ns3::Node>();
		m_bridges[name] = std::make_unique<Bridge>(processing_ns);
	} else if (kind == "link") {
		ReadLink(in);
	} else if (kind == "slots") {
		ReadSlots(in);
	} else if (kind == "stream") {
		ReadStream(in);
	} else {
		in.setstate(std::ios::failbit);
	}
	if (in.fail() && !in.eof())
		NS_FATAL_ERROR("cannot read: " << line);
}

/// One end of a link, its gap so long that a frame takes as much of the wire as Ethernet's.
Device Network::Add(const std::string &name, std::uint64_t rate_bps)
{
	const ns3::DataRate rate(rate_bps);
	auto device = ns3::CreateObject<ns3::PointToPointNetDevice>();
	device->SetAddress(ns3::Mac48Address::Allocate());
	device->SetDataRate(rate);
	device->SetInterframeGap(rate.CalculateBytesTxTime(kPreambleBytes + kGapBytes));
	device->SetQueue(ns3::CreateObject<ns3::DropTailQueue<ns3::Packet>>());
	m_nodes.at(name)->AddDevice(device);
	const auto bridge = m_bridges.find(name);
	if (bridge != m_bridges.end()) {
		bridge->second->Attach(device);
	} else {
		m_listeners[name] = std::make_unique<Listener>(m_streams, rate_bps);
		m_listeners[name]->Attach(device);
	}
	return device;
}

void Network::ReadLink(std::istream &in)
{
	std::string a;
	std::string b;
	std::uint64_t rate_bps = 0;
	std::int64_t propagation_ns = 0;

	in >> a >> b >> rate_bps >> propagation_ns;
	auto channel = ns3::CreateObject<ns3::PointToPointChannel>();
	channel->SetAttribute("Delay", ns3::TimeValue(ns3::NanoSeconds(propagation_ns)));
	const Device of_a = Add(a, rate_bps);
	const Device of_b = Add(b, rate_bps);
	of_a->Attach(channel);
	of_b->Attach(channel);
	m_links[{ a, b }] = { of_a, of_b, rate_bps };
	m_links[{ b, a }] = { of_b, of_a, rate_bps };
}

/// A station has one link.
void Network::ReadSlots(std::istream &in)
{
	std::string name;
	std::uint32_t slot_bytes = 0;
	std::int64_t slot_ns = 0;
	std::int64_t phase_ns = 0;

	in >> name >> slot_bytes >> slot_ns >> phase_ns;
	const Link &link = m_links.lower_bound({ name, "" })->second;
	m_first_hops[name] = ns3::CreateObject<PlaceholderErrorModel>();
	link.there->SetReceiveErrorModel(m_first_hops[name]);
	m_saturated[name] =
		std::make_unique<SaturatedTalker>(link.here, slot_bytes, slot_ns, phase_ns);
}

void Network::ReadStream(std::istream &in)
{
	Stream stream;
	std::string node;

	in >> stream.id >> stream.frame_bytes >> stream.period_ns >> stream.first_ns;
	while (in >> node)
		stream.route.push_back(node);
	stream.number = static_cast<std::uint32_t>(m_streams.size());
	m_streams.push_back(stream);
}

void Network::Connect(Stream &stream)
{
	const std::vector<std::string> &route = stream.route;
	for (std::size_t i = 1; i + 1 < route.size(); i++) {
		const Link &exit = m_links.at({ route[i], route[i + 1] });
		m_bridges.at(route[i])->Route(stream, exit.here, exit.rate_bps);
	}
	const auto saturated = m_saturated.find(route[0]);
	if (saturated != m_saturated.end()) {
		saturated->second->Add(stream);
		return;
	}
	m_talkers.push_back(std::make_unique<Talker>(m_links.at({ route[0], route[1] }).here));
	m_talkers.back()->Start(stream);
}

void Network::Run()
{
	for (Stream &stream : m_streams)
		Connect(stream);
	for (const auto &[name, talker] : m_saturated)
		talker->Start();
	ns3::Simulator::Stop(ns3::NanoSeconds(m_until_ns));
	const double began = CpuSeconds();
	ns3::Simulator::Run();
	m_cpu_s = CpuSeconds() - began;
}

void Network::PrintStream(const Stream &stream) const
{
	std::cout << '"' << stream.id << "\": {\"sent\": " << stream.sent
		  << ", \"received\": " << stream.received
		  << ", \"out_of_order\": " << stream.out_of_order;
	if (stream.received)
		std::cout << ", \"delay_ns\": [" << stream.delay_min_ns << ", "
			  << stream.delay_max_ns << ']';
	std::cout << '}';
}

void Network::Print() const
{
	rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	std::uint64_t slots = 0;
	std::uint64_t placeholders = 0;
	std::uint64_t discarded = 0;
	for (const auto &[name, talker] : m_saturated) {
		slots += talker->Slots();
		placeholders += talker->Placeholders();
	}
	for (const auto &[name, model] : m_first_hops)
		discarded += model->Discarded();
	std::cout << "{\"cpu_s\": " << m_cpu_s
		  << ", \"events\": " << ns3::Simulator::GetEventCount()
		  << ", \"rss_kib\": " << usage.ru_maxrss << ", \"slots\": " << slots
		  << ", \"placeholders\": " << placeholders << ", \"discarded\": " << discarded
		  << ", \"streams\": {";
	for (const Stream &stream : m_streams) {
		if (stream.number)
			std::cout << ", ";
		PrintStream(stream);
	}
	std::cout << "}}\n";
}

} // namespace

int main(int argc, char **argv)
{
	std::ifstream file(argc == 2 ? argv[1] : "");
	if (!file) {
		std::cerr << "usage: " << argv[0] << " DESCRIPTION\n";
		return 2;
	}
	// The fastest of its schedulers for these networks.
	ns3::GlobalValue::Bind("SchedulerType", ns3::StringValue("ns3::PriorityQueueScheduler"));
	Network network;
	for (std::string line; std::getline(file, line);)
		network.Read(line);
	network.Run();
	network.Print();
	ns3::Simulator::Destroy();
	return 0;
}
