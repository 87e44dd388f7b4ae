// SPDX-License-Identifier: BSD-3-Clause
// One 64-bit hash over everything that happened to frames, in order: equal seeds give equal hashes.
#pragma once

#include <cstdint>

#include "keepon/sim/types.hpp"

namespace keepon::sim
{

enum class TraceKind : std::uint32_t { kSubmit, kOutcome, kWire, kForward, kDeliver, kLose };

class Trace
{
public:
	void Add(TraceKind kind, NodeId node, FlowId flow, std::int64_t seq, TimePs time)
	{
		Fold(static_cast<std::uint64_t>(kind) << 32 | node);
		Fold(static_cast<std::uint64_t>(flow) << 40 ^ static_cast<std::uint64_t>(seq));
		Fold(static_cast<std::uint64_t>(time));
		count_++;
	}

	std::uint64_t Hash() const { return hash_; }
	std::uint64_t Count() const { return count_; }

private:
	/// FNV-1a over 64-bit words, with a fold so that high bits reach low ones.
	void Fold(std::uint64_t word)
	{
		hash_ = (hash_ ^ word) * 0x100000001b3u;
		hash_ ^= hash_ >> 29;
	}

	std::uint64_t hash_ = 0xcbf29ce484222325u;
	std::uint64_t count_ = 0;
};

} // namespace keepon::sim
