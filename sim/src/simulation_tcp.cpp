// SPDX-License-Identifier: BSD-3-Clause
// Simulation before the start: loads of kind "tcp".
#include <memory>
#include <utility>

#include "keepon/sim/simulation.hpp"

namespace keepon::sim
{

/// Data one way and ACKs the other, in the same queues; ACKs of the shortest length with time
/// stamps, SACK blocks not counted.
FlowId Simulation::AddTcp(const LoadSpec &spec)
{
	const std::string what = "load " + Quoted(spec.id);
	if (!Registry<TcpCongestionKind>::Find(spec.congestion))
		throw ValueError(what + ": congestion = " + Quoted(spec.congestion) +
				 " is not one of " + Registry<TcpCongestionKind>::Names());
	if (spec.frame_bytes <= kTcpHeaderBytes)
		throw ValueError(what + ": frame_bytes = " + std::to_string(spec.frame_bytes) +
				 " is not above " + std::to_string(kTcpHeaderBytes) +
				 ", the headers of a TCP segment");
	std::vector<NodeId> back(spec.route.rbegin(), spec.route.rend());
	const FlowId data = AddFlow({ spec.id, spec.talker, spec.listener, spec.route,
				      spec.frame_bytes, spec.tc, spec.queue });
	const FlowId acks = AddFlow({ spec.id + " acks", spec.listener, spec.talker, back,
				      kTcpHeaderBytes, spec.tc, spec.queue });
	Station &talker = *nodes_[spec.talker].station;
	Station &listener = *nodes_[spec.listener].station;
	auto sends = std::make_unique<TcpTalker>(world_, talker, data, spec);
	auto answers = std::make_unique<TcpListener>(world_, listener, acks, spec, *sends);
	sends->Answers(*answers);
	SetReceiver(data, *answers);
	SetReceiver(acks, *sends);
	tcp_.insert({ data, { sends.get(), answers.get(), acks } });
	SetSource(acks, listener.AddApplication(std::move(answers)));
	SetSource(data, talker.AddApplication(std::move(sends)));
	return data;
}

} // namespace keepon::sim
