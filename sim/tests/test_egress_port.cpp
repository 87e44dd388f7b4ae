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

constexpr TimePs Bytes(std::int64_t count)
{
	return count * kBytePs;
}

/// Queues 0 and 1 are preemptable. A frame of \p frame_bytes begins at 0, and at \p at an express
/// one of 100 bytes comes. When does that begin?
TimePs ExpressBegins(std::uint32_t frame_bytes, TimePs at, std::uint32_t min_fragment_bytes = 64)
{
	Sender one;
	one.port.SetMerge(MacMerge(0x03, min_fragment_bytes));
	one.port.Enqueue(0, { 1, 0, frame_bytes });
	one.RunUntil(at);
	one.Put(7, 2);
	one.RunUntil(Bytes(20000));
	for (const auto &sent : one.sent) {
		if (sent.frame == 2)
			return sent.at;
	}
	return kNever;
}

/// IEEE Std 802.3-2022 clause 99.4.4: an mPacket is interrupted when it has 64 bytes with the mCRC
/// of 4, and when 64 or more are left of the frame.
void TestInterruption(Checks &checks)
{
	// Too soon: 60 bytes of the frame go first. 8 + 60 + 4 + 12 = 84.
	EXPECT(ExpressBegins(1500, 1) == Bytes(84));
	EXPECT(ExpressBegins(1500, Bytes(8 + 59)) == Bytes(84));
	// Within byte 701: 8 + 701 + 4 + 12 = 725.
	EXPECT(ExpressBegins(1500, Bytes(8 + 700) + 1) == Bytes(725));
	// The last time: 64 bytes are left. 8 + 1436 + 4 + 12 = 1460; else 8 + 1500 + 12.
	EXPECT(ExpressBegins(1500, Bytes(8 + 1436)) == Bytes(1460));
	EXPECT(ExpressBegins(1500, Bytes(8 + 1436) + 1) == Bytes(1520));
	// The longest wait: of 123 bytes either mPacket would be too short. 8 + 123 + 12 = 143.
	EXPECT(ExpressBegins(123, 1) == Bytes(143) && MacMerge(1, 64).WaitBytesMax() == 143);
	EXPECT(ExpressBegins(124, 1) == Bytes(84));
	// addFragSize 3: 252 + 63 bytes. 8 + 315 + 12 = 335, and 8 + 252 + 4 + 12 = 276.
	EXPECT(ExpressBegins(315, 1, 256) == Bytes(335) && MacMerge(1, 256).WaitBytesMax() == 335);
	EXPECT(ExpressBegins(316, 1, 256) == Bytes(276));
}

void TestInterruptedFrame(Checks &checks)
{
	Sender one;
	one.port.SetMerge(MacMerge(0x03, 64));
	one.port.Enqueue(0, { 1, 0, 1500 });
	one.RunUntil(Bytes(8 + 100));
	one.port.Enqueue(1, { 2, 0, 100 });
	EXPECT(one.sent.empty()); // both are preemptable: the second waits
	one.Put(7, 3);
	one.Put(5, 4);
	one.RunUntil(Bytes(5000));
	// 100 bytes, two express frames, 1400 bytes; then only the other preemptable one.
	// 8 + 100 + 4 + 12 = 124, + 240 = 364, and the last bit at 364 + 8 + 1400 = 1772.
	EXPECT(one.Is(0, 3, Bytes(124)) && one.Is(1, 4, Bytes(244)) && one.Is(2, 1, 0));
	EXPECT(one.sent[2].what.LastBit() == Bytes(1772) && one.sent[2].what.mpackets == 2);
	EXPECT(one.Is(3, 2, Bytes(1784)) && one.sent.size() == 4);
	// Each of three interruptions costs 24 bytes more: mCRC, gap, and preamble of the next.
	one.port.Enqueue(0, { 5, 0, 1500 });
	const TimePs start = one.now;
	for (const std::int64_t at : { 100, 400, 800 }) {
		one.RunUntil(start + Bytes(at));
		one.Put(7, 6);
	}
	one.RunUntil(start + Bytes(5000));
	EXPECT(one.sent.back().frame == 5 && one.sent.back().what.mpackets == 4 &&
	       one.sent.back().what.LastBit() - start == Bytes(8 + 1500 + 3 * (24 + 120)));
}

struct Put {
	std::int64_t at; // in bytes, as all times here
	int queue;
	std::uint32_t bytes;
};

/// The last bits of frames as a MAC that decides before each byte has them: queue 7 is express.
std::vector<std::int64_t> ByteByByte(const std::vector<Put> &puts)
{
	std::vector<std::int64_t> ends(puts.size());
	std::vector<std::size_t> express, preemptable; // the rest of a frame is the first of these
	std::vector<std::uint32_t> left(puts.size());
	std::int64_t free = 0;
	std::int64_t preamble = 0; // of the mPacket under way, still to be sent
	std::uint32_t sent = 0;    // of the frame in it
	bool under_way = false;
	std::size_t next = 0, done = 0;
	for (std::int64_t at = 0; done < puts.size(); at++) {
		for (; next < puts.size() && puts[next].at == at; next++) {
			left[next] = puts[next].bytes;
			(puts[next].queue == 7 ? express : preemptable).push_back(next);
		}
		if (!under_way && at >= free && !express.empty()) {
			ends[express[0]] = at + 8 + left[express[0]];
			free = ends[express[0]] + 12;
			express.erase(express.begin());
			done++;
		} else if (!under_way && at >= free && !preemptable.empty()) {
			under_way = true;
			preamble = 8;
			sent = 0;
		}
		if (!under_way || preamble-- > 0)
			continue;
		std::uint32_t &rest = left[preemptable[0]];
		if (rest == 0) {
			ends[preemptable[0]] = at;
			free = at + 12;
			preemptable.erase(preemptable.begin());
			under_way = false;
			done++;
		} else if (!express.empty() && sent + 4 >= 64 && rest >= 64) {
			free = at + 4 + 12;
			under_way = false;
		} else {
			sent++;
			rest--;
		}
	}
	return ends;
}

void TestAgainstByteByByte(Checks &checks)
{
	Rng rng(1, "test", "preemption");
	std::int64_t interruptions = 0;
	for (int turn = 0; turn < 500; turn++) {
		std::vector<Put> puts(12);
		std::int64_t at = 0;
		for (Put &put : puts) {
			at += 1 + rng.Below(turn % 2 ? 150 : 600);
			put = { at, rng.Below(2) ? 7 : 0,
				static_cast<std::uint32_t>(64 + rng.Below(turn % 3 ? 200 : 1400)) };
		}
		Sender one;
		one.port.SetMerge(MacMerge(0x01, 64));
		for (std::size_t i = 0; i < puts.size(); i++) {
			one.RunUntil(Bytes(puts[i].at) - 1); // what comes now comes first
			one.now++;
			one.port.Enqueue(puts[i].queue, { i, 0, puts[i].bytes });
		}
		one.RunUntil(Bytes(100'000));
		const std::vector<std::int64_t> ends = ByteByByte(puts);
		EXPECT(one.sent.size() == puts.size());
		for (const auto &sent : one.sent) {
			EXPECT(sent.what.LastBit() == Bytes(ends[sent.frame]));
			interruptions += sent.what.mpackets - 1;
		}
	}
	EXPECT(interruptions > 300);
}

/// 100 us released, 10 us held. HOLD is asserted 143 bytes, 1.144 us, sooner.
void TestHold(Checks &checks)
{
	constexpr TimePs us = 1000 * kPsPerNs;
	for (const std::uint32_t bytes : { 1500u, 123u }) {
		Sender one;
		one.port.SetGates(
			Gates(0, { { 0xff, 100'000 }, { GateEntry::kHold | 0xff, 10'000 } }),
			one.oscillator, nullptr);
		one.port.SetMerge(MacMerge(0x01, 64));
		one.Put(7, 2, 100 * us);
		one.RunUntil(bytes == 1500 ? 90 * us : 100 * us - Bytes(143));
		one.port.Enqueue(0, { 1, 0, bytes });
		one.port.Enqueue(0, { 3, 0, bytes });
		one.RunUntil(150 * us);
		const auto &first = *std::find_if(one.sent.begin(), one.sent.end(),
						  [](const auto &s) { return s.frame == 1; });
		const bool longer = bytes == 1500;
		// 98.856 us is 1107 bytes after 90 us: 1099 of the frame. 401 go after 110 us.
		EXPECT(first.what.mpackets == (longer ? 2 : 1));
		EXPECT(first.what.LastBit() ==
		       (longer ? 110 * us + Bytes(8 + 401) : 100 * us - Bytes(12)));
		EXPECT(one.Is(longer ? 0 : 1, 2, 100 * us));
		EXPECT(one.Is(2, 3, 110 * us + (longer ? Bytes(8 + 401 + 12) : 0)));
	}
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
	TestInterruption(checks);
	TestInterruptedFrame(checks);
	TestAgainstByteByByte(checks);
	TestHold(checks);
	TestPauses(checks);
}

} // namespace keepon::sim::test
