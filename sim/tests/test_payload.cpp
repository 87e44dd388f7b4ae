// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "checks.hpp"
#include "keepon/sim/payload.hpp"

namespace keepon::sim::test
{

/// Every single changed, missing or left-over byte is noticed.
void TestPayload(Checks &checks)
{
	const FrameHeader to{ 0x0123456789ab, 0xabc, 5 };
	const FrameHeader other{ 0x0123456789ab, 0xabc, 6 };
	std::array<std::uint8_t, 1600> data{};
	for (std::uint32_t frame_bytes : { 64u, 65u, 67u, 200u, 1522u }) {
		const std::uint32_t data_bytes = frame_bytes - KPN_FCS_BYTES;
		const std::uint32_t wire_bytes = data_bytes + 30;
		data.fill(0);
		WritePayload(data.data(), frame_bytes, 3, to, 5, 77);
		std::fill(data.begin() + data_bytes, data.end(), 0);
		EXPECT(ReadPayload(data.data()).flow == 5 && ReadPayload(data.data()).seq == 77);
		EXPECT(CheckPayload(data.data(), 3, to, data_bytes, wire_bytes));
		EXPECT(!CheckPayload(data.data(), 3, to, data_bytes, data_bytes - 1));
		EXPECT(!CheckPayload(data.data(), 4, to, data_bytes, wire_bytes));
		EXPECT(!CheckPayload(data.data(), 3, other, data_bytes, wire_bytes));
		const FrameHeader read = HeaderOf(ReadPayload(data.data()));
		EXPECT(read.Address() == to.Address() && read.priority == to.priority);
		EXPECT(IsTestFrame(ReadPayload(data.data())));
		for (std::uint32_t at = 0; at < wire_bytes; at++) {
			data[at] ^= 0x40;
			EXPECT(!CheckPayload(data.data(), 3, to, data_bytes, wire_bytes));
			data[at] ^= 0x40;
		}
		EXPECT(!CheckPayload(data.data(), 3, to, data_bytes - 1, wire_bytes));
		data[wire_bytes] = 1; // beyond the frame: not its affair
		EXPECT(CheckPayload(data.data(), 3, to, data_bytes, wire_bytes));
	}
}

} // namespace keepon::sim::test
