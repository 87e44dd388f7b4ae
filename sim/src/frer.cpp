// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/frer.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace keepon::sim
{

SequenceRecovery::SequenceRecovery(const RecoverySpec &spec, bool individual)
	: spec_(spec), individual_(individual),
	  history_(static_cast<std::size_t>(spec.history_length)),
	  latent_test_(spec.latent_period_ns > 0 ? spec.latent_period_ns * kPsPerNs : kNever),
	  latent_reset_(spec.latent_period_ns > 0 ? spec.latent_reset_ns * kPsPerNs : kNever)
{
}

void SequenceRecovery::Elapse(TimePs now)
{
	while (std::min(latent_test_, latent_reset_) <= now) {
		if (latent_test_ <= latent_reset_) {
			const std::int64_t off = std::abs(latent_base_ - Difference());
			counters_.latent_errors += off > spec_.latent_difference;
			latent_test_ += spec_.latent_period_ns * kPsPerNs;
		} else {
			latent_base_ = Difference();
			latent_reset_ += spec_.latent_reset_ns * kPsPerNs;
		}
	}
	if (take_any_ || now - last_ < spec_.reset_ns * kPsPerNs)
		return;
	take_any_ = true;
	counters_.resets++;
}

void SequenceRecovery::Shift(bool seen)
{
	head_ = (head_ ? head_ : history_.size()) - 1;
	// What came before the reset is not missed.
	if (known_ == history_.size())
		counters_.lost += !history_[head_];
	else
		known_++;
	history_[head_] = seen;
}

SequenceRecovery::Fate SequenceRecovery::Vector(std::uint16_t sequence)
{
	const int delta = static_cast<std::int16_t>(sequence - sequence_);
	const auto length = static_cast<int>(history_.size());
	if (delta >= length || delta <= -length) {
		counters_.rogue++;
		return Fate::kRogue;
	}
	if (delta <= 0) {
		const auto seen =
			history_[(head_ + static_cast<std::size_t>(-delta)) % history_.size()];
		if (seen)
			return Fate::kDuplicate;
		history_[(head_ + static_cast<std::size_t>(-delta)) % history_.size()] = true;
		counters_.out_of_order++;
		return Fate::kPassed;
	}
	counters_.out_of_order += delta != 1;
	for (int left = delta; left > 0; left--)
		Shift(left == 1);
	sequence_ = sequence;
	return Fate::kPassed;
}

SequenceRecovery::Fate SequenceRecovery::Match(std::uint16_t sequence)
{
	if (sequence == sequence_)
		return Fate::kDuplicate;
	counters_.out_of_order += sequence != static_cast<std::uint16_t>(sequence_ + 1);
	sequence_ = sequence;
	return Fate::kPassed;
}

SequenceRecovery::Fate SequenceRecovery::Take(std::uint16_t sequence, TimePs now)
{
	Elapse(now);
	Fate fate = Fate::kPassed;
	if (take_any_) {
		take_any_ = false;
		std::fill(history_.begin(), history_.end(), false);
		history_[head_] = true;
		known_ = 1;
		sequence_ = sequence;
	} else {
		fate = spec_.match ? Match(sequence) : Vector(sequence);
	}
	(fate == Fate::kPassed ? counters_.passed : counters_.discarded)++;
	if (fate == Fate::kPassed || individual_)
		last_ = now;
	return fate;
}

const SequenceRecovery::Counters &SequenceRecovery::CountersAt(TimePs now)
{
	Elapse(now);
	return counters_;
}

StreamRecovery::StreamRecovery(World &world, const std::string &node, const RecoverySpec &spec)
	: spec_(spec), whole_(spec, false), duplicate_place_(world.Place(node + " duplicate")),
	  rogue_place_(world.Place(node + " rogue sequence number"))
{
}

std::optional<std::uint32_t> StreamRecovery::Drops(const Packet &packet, TimePs now)
{
	const auto sequence = static_cast<std::uint16_t>(packet.header.sequence);
	SequenceRecovery::Fate fate = SequenceRecovery::Fate::kPassed;
	if (spec_.individual)
		fate = individual_.try_emplace(packet.port, spec_, true)
			       .first->second.Take(sequence, now);
	if (fate == SequenceRecovery::Fate::kPassed)
		fate = whole_.Take(sequence, now);
	if (fate == SequenceRecovery::Fate::kPassed)
		return std::nullopt;
	return fate == SequenceRecovery::Fate::kRogue ? rogue_place_ : duplicate_place_;
}

std::optional<std::uint32_t> Frer::Drops(const Packet &packet, std::uint32_t stream, TimePs now,
					 Treatment &treatment)
{
	if (stream >= functions_.size())
		return std::nullopt;
	Functions &own = functions_[stream];
	if (own.generates && packet.header.sequence < 0)
		treatment.sequence = own.next++;
	if (!own.recovery || packet.header.sequence < 0)
		return std::nullopt;
	if (own.recovery->Spec().untag)
		treatment.sequence = -1;
	return own.recovery->Drops(packet, now);
}

std::vector<StreamRecovery *> Frer::Recoveries()
{
	std::vector<StreamRecovery *> found;
	for (Functions &own : functions_) {
		if (own.recovery)
			found.push_back(&*own.recovery);
	}
	return found;
}

} // namespace keepon::sim
