// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "checks.hpp"
#include "sender.hpp"

namespace keepon::sim::test
{

namespace
{

/// The idle slope of a credit-based shaper, without its hiCredit: each frame costs time.
struct Shaper final : TransmissionSelection {
	TimePs next = 0;

	TimePs EligibleAt(const QueuedFrame &, TimePs at) override { return std::max(at, next); }
	void OnSent(const QueuedFrame &, TimePs start, TimePs end) override
	{
		next = start + 3 * (end - start);
	}
};

void TestOrder(Checks &checks)
{
	Sender one;
	for (const std::uint64_t frame : { 1, 2, 3 })
		one.Put(frame == 3 ? 5 : 2, frame);
	EXPECT(one.Is(0, 1, 0) && one.port.Waiting() == 2);
	one.RunUntil(10 * kPitchPs);
	EXPECT(one.Is(1, 3, kPitchPs) && one.Is(2, 2, 2 * kPitchPs));
	// One event for each frame that had to wait, none for ends nobody waits for.
	EXPECT(one.events.Pushed() == 2);
	one.Put(2, 4, 11 * kPitchPs);
	one.Put(1, 5, 12 * kPitchPs);
	one.Put(0, 6, 10 * kPitchPs + 1);
	one.RunUntil(20 * kPitchPs);
	EXPECT(one.Is(3, 6, 10 * kPitchPs + 1) && one.Is(4, 4, 11 * kPitchPs + 1));
	EXPECT(one.Is(5, 5, 12 * kPitchPs + 1) && one.sent.size() == 6);
}

void TestGate(Checks &checks)
{
	Sender one;
	const std::int64_t cycle_ns = 10 * kPitchPs / kPsPerNs;
	const std::int64_t short_ns = kPitchPs / kPsPerNs / 2;
	one.port.SetGates(Gates(0, { { 0x01, cycle_ns / 2 },
				     { 0x02, cycle_ns / 2 - short_ns },
				     { 0x04, short_ns } }),
			  one.oscillator, nullptr);
	one.Put(1, 1);
	one.Put(2, 2); // its gate is never open for long enough
	one.Put(0, 3);
	EXPECT(one.never.size() == 1 && one.never[0] == 2);
	EXPECT(one.Is(0, 3, 0));
	one.RunUntil(20 * kPitchPs);
	EXPECT(one.Is(1, 1, 5 * kPitchPs) && one.sent.size() == 2);
	EXPECT(one.events.Pushed() == 1); // for the gate alone, not for the end before it
}

void TestSelection(Checks &checks)
{
	Sender one;
	one.port.SetSelection(3, std::make_unique<Shaper>());
	for (const std::uint64_t frame : { 1, 2 })
		one.Put(3, frame);
	for (const std::uint64_t frame : { 10, 11, 12, 13 })
		one.Put(0, frame);
	one.RunUntil(20 * kPitchPs);
	EXPECT(one.Is(0, 1, 0) && one.Is(1, 10, kPitchPs) && one.Is(2, 11, 2 * kPitchPs));
	EXPECT(one.Is(3, 2, 3 * kPitchPs) && one.Is(4, 12, 4 * kPitchPs));
}

void TestCut(Checks &checks)
{
	Sender one;
	EXPECT(!one.port.CutShort());
	one.Put(0, 1);
	one.Put(0, 2);
	one.now = 8 * kBytePs + 10 * kBytePs + 1; // in the eleventh byte
	const auto cut = one.port.CutShort();
	EXPECT(cut && cut->queue == 0 && cut->frame.frame == 1 && cut->sent.frame_bytes == 11);
	EXPECT(one.port.Wire().FreeAt() == TimePs{ 8 + 11 + 12 } * kBytePs);
	EXPECT(!one.port.CutShort()); // it has ended
	one.port.PutBack(0, cut->frame);
	one.Put(7, 3);
	one.RunUntil(10 * kPitchPs);
	const TimePs free = TimePs{ 31 } * kBytePs;
	EXPECT(one.Is(1, 3, free) && one.Is(2, 1, free + kPitchPs) &&
	       one.Is(3, 2, free + 2 * kPitchPs) && one.sent.size() == 4);
	// In the preamble nothing of the frame was sent; in the last byte nothing is left to cut.
	one.Put(0, 4);
	one.now += 5 * kBytePs;
	EXPECT(one.port.CutShort()->sent.frame_bytes == 0);
	one.RunUntil(one.now + kPitchPs);
	one.Put(0, 5);
	one.now += TimePs{ 8 + kFrameBytes } * kBytePs - 1;
	EXPECT(!one.port.CutShort());
}

void TestPauses(Checks &checks)
{
	Sender one;
	Mac mac(one.oscillator, kBytePs, kBytePs);
	mac.AddPause({ 3 * kPitchPs, 2 * kPitchPs + 1 });
	mac.AddPause({ 1, kPitchPs });
	EXPECT(mac.Send(kFrameBytes, 0).start == 0);
	EXPECT(mac.Send(kFrameBytes, 0).start == 2 * kPitchPs); // idle from the first one's end
	EXPECT(mac.Send(kFrameBytes, 1).start == 5 * kPitchPs + kBytePs && mac.PausedPs() > 0);
	EXPECT(mac.Send(kFrameBytes, 20 * kPitchPs + 1).start == 20 * kPitchPs + kBytePs);
}

} // namespace

void TestEgressPort(Checks &checks)
{
	TestOrder(checks);
	TestGate(checks);
	TestSelection(checks);
	TestCut(checks);
	TestPauses(checks);
}

} // namespace keepon::sim::test
