// SPDX-License-Identifier: BSD-3-Clause
// How the clock of a station is kept, each way in a file of its own.
#pragma once

#include <memory>

#include "keepon/sim/registry.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// A clock on a NIC that its station sets, once its wire runs evenly.
class KeptClock
{
public:
	/// Whether a rate that was set once will do for ever.
	virtual bool RateIsConstant() const = 0;
	/// Bring it together with the clock of the station: by a step, by the rate that makes them
	/// meet at \p until, or both; kNever: the rate stays as it is.
	virtual void Synchronise(bool step, TimePs until) = 0;
	/// To its initial value, before its source sets it from then on.
	virtual void StepToStart() = 0;
	/// SyncKind::keep is to be called after the interval of synchronisation. \return when
	virtual TimePs KeepAgain() = 0;

protected:
	~KeptClock() = default;
};

/// A way, by the name that stands in `sync`.
struct SyncKind {
	/// The station's clock agrees with network time at the start, and is its oscillator from
	/// then on; if not, it is network time.
	bool free_running;
	/// PTP sets it in the course of the run: its reading at the start says nothing of
	/// later ones.
	bool settles;
	/// A clock that was disturbed is seen to after the interval of synchronisation.
	bool restores;
	/// \param step  its time means nothing yet, or any more
	void (*keep)(KeptClock &clock, bool step);
};

} // namespace keepon::sim
