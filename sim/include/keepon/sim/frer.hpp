// SPDX-License-Identifier: BSD-3-Clause
// Frame replication and elimination for reliability (IEEE Std 802.1CB-2017):
//
//   sequence generation -> stream splitting -> several ways -> individual recovery -> recovery
//
// All copies of a frame have one address, and a bridge that has several exits for it splits the
// stream. What tells copies apart from new frames is the number in their R-tag.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "keepon/sim/ingress_pipeline.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

/// A sequence recovery function with its latent error detection (clauses 7.4.3 and 7.4.4).
class SequenceRecovery
{
public:
	enum class Fate { kPassed, kDuplicate, kRogue };

	/// Counters of clause 10.8; `resets` has the one at the start.
	struct Counters {
		std::int64_t passed = 0;
		std::int64_t discarded = 0; // rogue ones among them
		std::int64_t out_of_order = 0;
		std::int64_t rogue = 0;
		std::int64_t lost = 0;
		std::int64_t resets = 1;
		std::int64_t latent_errors = 0;
	};

	/// \param individual  of the frames of one way, where a duplicate keeps the timer going, too
	SequenceRecovery(const RecoverySpec &spec, bool individual);

	/// What becomes of a frame with \p sequence that comes at \p now, never before the last one.
	Fate Take(std::uint16_t sequence, TimePs now);
	/// At \p now, not before the last frame.
	const Counters &CountersAt(TimePs now);

private:
	Fate Vector(std::uint16_t sequence);
	Fate Match(std::uint16_t sequence);
	void Shift(bool seen);
	/// Timers that have run out until \p now.
	void Elapse(TimePs now);
	/// How many more passed frames than discarded ones each other way could have brought.
	std::int64_t Difference() const
	{
		return counters_.passed * (spec_.latent_paths - 1) - counters_.discarded;
	}

	RecoverySpec spec_;
	bool individual_;
	std::vector<bool> history_; // of sequence_, the one before it ... from head_ on
	std::size_t head_ = 0;
	std::size_t known_ = 0; // numbers since the reset, at most those of history_
	std::uint16_t sequence_ = 0;
	bool take_any_ = true;
	TimePs last_ = 0;
	TimePs latent_test_;
	TimePs latent_reset_;
	std::int64_t latent_base_ = 0;
	Counters counters_;
};

/// What recovers a stream at a bridge or a listener.
class StreamRecovery
{
public:
	/// \param node  its name
	StreamRecovery(World &world, const std::string &node, const RecoverySpec &spec);

	/// Where \p packet with an R-tag is lost, World::Place(); nothing if it goes on.
	std::optional<std::uint32_t> Drops(const Packet &packet, TimePs now);

	const RecoverySpec &Spec() const { return spec_; }
	SequenceRecovery &Whole() { return whole_; }
	/// By port; empty unless RecoverySpec::individual.
	std::map<std::uint32_t, SequenceRecovery> &Individual() { return individual_; }

private:
	RecoverySpec spec_;
	SequenceRecovery whole_;
	std::map<std::uint32_t, SequenceRecovery> individual_;
	std::uint32_t duplicate_place_;
	std::uint32_t rogue_place_;
};

/// Sequence generation (clause 7.4.1) and recovery in a bridge.
class Frer final : public IngressFilter
{
public:
	/// \param stream  its handle
	void Generate(std::uint32_t stream) { Of(stream).generates = true; }
	void Recover(std::uint32_t stream, StreamRecovery recovery)
	{
		Of(stream).recovery.emplace(std::move(recovery));
	}

	std::optional<std::uint32_t> Drops(const Packet &packet, std::uint32_t stream, TimePs now,
					   Treatment &treatment) override;
	std::vector<StreamRecovery *> Recoveries();

private:
	struct Functions {
		bool generates = false;
		std::uint16_t next = 0;
		std::optional<StreamRecovery> recovery;
	};

	Functions &Of(std::uint32_t stream)
	{
		if (functions_.size() <= stream)
			functions_.resize(stream + 1);
		return functions_[stream];
	}

	std::vector<Functions> functions_; // by handle
};

} // namespace keepon::sim
