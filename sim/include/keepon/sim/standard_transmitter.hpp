// SPDX-License-Identifier: BSD-3-Clause
// A conventional driver and NIC: one ring, so nothing overtakes and a frame has its place on the
// wire as soon as it is posted. Append at the tail of the ring, doorbell, fetch, send when the
// wire is free (C27). Ring space comes back with a completion interrupt, coalesced over frames and
// time; what finds the ring full waits in a queue of bounded length. txtimes mean nothing to it.
// Source: Linux bcmgenet (coalescing KeepON paper section A.6, I2).
#pragma once

#include <deque>

#include "keepon/sim/mac.hpp"
#include "keepon/sim/rng.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/transmitter.hpp"
#include "keepon/sim/world.hpp"

namespace keepon::sim
{

class StandardTransmitter final : public Transmitter
{
public:
	explicit StandardTransmitter(const TransmitterSetup &setup);

	void AddPause(const WirePause &pause) override { mac_.AddPause(pause); }
	void Start() override {}
	kpn_verdict Submit(TxFrame &frame) override;
	bool HasRoomFor(const TxFrame & /*frame*/, std::size_t coming) override
	{
		return ring_.size() + queue_.size() + coming < spec_.ring_slots;
	}
	TimePs RoomAt() const override { return reclaim_at_; }
	/// Interrupts until then only make room, and leave alone what has not been sent.
	bool TakesAhead(TimePs) override { return HasRoom(); }
	Counters NicCounters() const override;

private:
	struct Posted {
		TxFrame *frame;
		TimePs done;
	};

	bool HasRoom() const { return ring_.size() < spec_.ring_slots && queue_.empty(); }
	void Post(TxFrame &frame);
	void OnReclaim(TimePs time, std::uint64_t);
	void ScheduleReclaim();

	World &world_;
	NicSpec spec_;
	Mac mac_;
	Rng fetch_rng_;
	TransmitterSink &sink_;
	std::deque<Posted> ring_;
	std::deque<TxFrame *> queue_;
	TimePs ready_ = 0; // fetch of the last frame posted
	TimePs reclaim_at_ = kNever;
	std::int64_t frames_ = 0;
	std::int64_t frame_bytes_ = 0;
	std::int64_t interrupts_ = 0;
	std::int64_t ring_full_ = 0;
	MemberEvent<&StandardTransmitter::OnReclaim> reclaim_{ *this };
};

} // namespace keepon::sim
