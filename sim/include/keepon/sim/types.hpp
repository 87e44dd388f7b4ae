// SPDX-License-Identifier: BSD-3-Clause
// Units and the error type of the simulator.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace keepon::sim
{

/// True time since the start of the simulation, in ps (int64: 106 days). Network time is epoch_ns +
/// true time.
using TimePs = std::int64_t;

inline constexpr TimePs kNever = INT64_MAX;
inline constexpr TimePs kPsPerNs = 1000;
inline constexpr std::int64_t kNsPerS = 1'000'000'000;

using NodeId = std::uint32_t;
/// Behind the first link of two bridges either calls the other by its node and this for each link
/// before.
constexpr NodeId kCable = 1u << 24;
constexpr NodeId kCablesMax = 8;
using FlowId = std::uint32_t;

/// A wrong value given by the user: one sentence naming key, value and allowed range. Nothing was
/// changed.
class ValueError : public std::invalid_argument
{
public:
	using std::invalid_argument::invalid_argument;
};

/// As names stand in its messages.
inline std::string Quoted(const std::string &text)
{
	return "\"" + text + "\"";
}

/// Floor division for positive divisors; C++ truncates towards zero.
constexpr std::int64_t FloorDiv(std::int64_t value, std::int64_t divisor)
{
	return value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor);
}

/// Remainder that is never negative.
constexpr std::int64_t FloorMod(std::int64_t value, std::int64_t divisor)
{
	return value - FloorDiv(value, divisor) * divisor;
}

constexpr std::int64_t CeilDiv(std::int64_t value, std::int64_t divisor)
{
	return -FloorDiv(-value, divisor);
}

} // namespace keepon::sim
