// SPDX-License-Identifier: BSD-3-Clause
// An egress port that sends, and what it sent.
#pragma once

#include <cstdint>
#include <vector>

#include "keepon/sim/egress_port.hpp"

namespace keepon::sim::test
{

inline constexpr std::uint32_t kBytePs = 8000; // 1 Gb/s
inline constexpr std::uint32_t kFrameBytes = 100;
inline constexpr TimePs kPitchPs = TimePs{ 8 + kFrameBytes + 12 } * kBytePs;

struct Sender : EgressPort::Owner {
	struct Sent {
		std::uint64_t frame;
		TimePs at;
		Transmission what;
	};

	EventQueue events;
	TimePs now = 0;
	Oscillator oscillator{ 0, 0, 0, Rng(1, "test", "mac") };
	EgressPort port{ events, now, *this, 0, Mac(oscillator, kBytePs, 1) };
	std::vector<Sent> sent;
	std::vector<std::uint64_t> never;

	virtual ~Sender() = default;

	void OnTransmit(EgressPort &, const QueuedFrame &frame, const Transmission &what) override
	{
		sent.push_back({ frame.frame, what.start, what });
	}
	void OnNeverFits(EgressPort &, const QueuedFrame &frame) override
	{
		never.push_back(frame.frame);
	}
	void RunUntil(TimePs until)
	{
		while (!events.Empty() && events.Top().time <= until) {
			const Event event = events.Pop();
			now = event.time;
			event.handler->Handle(event.time, event.argument);
		}
		now = until;
	}
	void Put(int queue, std::uint64_t frame, TimePs eligible = 0)
	{
		port.Enqueue(queue, { frame, eligible, kFrameBytes });
	}
	bool Is(std::size_t index, std::uint64_t frame, TimePs at) const
	{
		return index < sent.size() && sent[index].frame == frame && sent[index].at == at;
	}
};

} // namespace keepon::sim::test
