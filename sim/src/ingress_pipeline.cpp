// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/ingress_pipeline.hpp"

#include <algorithm>

namespace keepon::sim
{

IngressPipeline::Entry &IngressPipeline::EntryOf(const FrameHeader &header)
{
	const auto known = static_cast<std::uint32_t>(entries_.Count());
	Entry &entry = entries_[header.Address()];
	if (entries_.Count() > known)
		entry.stream = known;
	return entry;
}

void IngressPipeline::AddRoute(const FrameHeader &header, std::uint32_t port)
{
	Entry &entry = EntryOf(header);
	for (Exit &exit : entry.exits) {
		if (exit.port == port) {
			exit.listeners++;
			return;
		}
	}
	entry.exits.push_back({ static_cast<std::uint16_t>(port), 1 });
}

void IngressPipeline::AddWay(const FrameHeader &header, std::uint32_t port)
{
	Entry &entry = EntryOf(header);
	const auto same = [port](const Exit &exit) { return exit.port == port; };
	if (std::none_of(entry.exits.begin(), entry.exits.end(), same))
		entry.exits.push_back({ static_cast<std::uint16_t>(port), 1 });
}

void IngressPipeline::AddReceiver(const FrameHeader &header, Receiver &receiver)
{
	EntryOf(header).receiver = &receiver;
}

IngressPipeline::Decision IngressPipeline::Decide(const Packet &packet, TimePs now)
{
	Decision decision;
	const Entry *entry = entries_.Find(packet.header.Address());
	if (!entry) {
		decision.place = unknown_place_;
		return decision;
	}
	decision.receiver = entry->receiver;
	if (decision.receiver)
		return decision;
	Treatment treatment{ packet.header.priority, packet.header.drop_eligible,
			     packet.header.sequence };
	for (const auto &filter : filters_) {
		if (const auto place = filter->Drops(packet, entry->stream, now, treatment)) {
			decision.place = *place;
			return decision;
		}
	}
	decision.exits = &entry->exits;
	decision.queue = queues_[static_cast<std::size_t>(treatment.priority)];
	decision.drop_eligible = treatment.drop_eligible;
	decision.sequence = treatment.sequence;
	decision.wait = treatment.wait;
	return decision;
}

} // namespace keepon::sim
