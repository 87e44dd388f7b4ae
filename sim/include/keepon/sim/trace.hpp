// SPDX-License-Identifier: BSD-3-Clause
// One 64-bit hash over everything that happened to frames and when: equal seeds give equal hashes.
// Every entry has its time, so the order in which they were made does not matter: which of two
// independent things at one instant was computed first, or how far ahead, is no behaviour.
#pragma once

#include <cstdint>

#include "keepon/sim/rng.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

enum class TraceKind : std::uint32_t { kSubmit, kOutcome, kWire, kForward, kDeliver, kLose };

class Trace
{
public:
	void Add(TraceKind kind, NodeId node, FlowId flow, std::int64_t seq, TimePs time)
	{
		std::uint64_t hash = 0xcbf29ce484222325u;
		hash = Folded(hash, static_cast<std::uint64_t>(kind) << 32 | node);
		hash = Folded(hash, static_cast<std::uint64_t>(flow) << 40 ^
					    static_cast<std::uint64_t>(seq));
		sum_ += Mix64(Folded(hash, static_cast<std::uint64_t>(time)));
		count_++;
	}

	std::uint64_t Hash() const { return Mix64(sum_); }
	std::uint64_t Count() const { return count_; }

private:
	/// FNV-1a over 64-bit words, with a fold so that high bits reach low ones.
	static std::uint64_t Folded(std::uint64_t hash, std::uint64_t word)
	{
		hash = (hash ^ word) * 0x100000001b3u;
		return hash ^ hash >> 29;
	}

	std::uint64_t sum_ = 0;
	std::uint64_t count_ = 0;
};

} // namespace keepon::sim
