// SPDX-License-Identifier: BSD-3-Clause
// Random streams: one per component and purpose, so that adding a station leaves the others' draws
// alone. Generator: xoshiro256++ (Blackman, Vigna, "Scrambled linear pseudorandom number
// generators", 2021), seeded by splitmix64.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace keepon::sim
{

constexpr std::uint64_t Mix64(std::uint64_t value)
{
	value += 0x9e3779b97f4a7c15u;
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
	value = (value ^ value >> 27) * 0x94d049bb133111ebu;
	return value ^ value >> 31;
}

class Rng
{
public:
	/// \param owner  name of the component; \param purpose  what it draws
	Rng(std::uint64_t seed, std::string_view owner, std::string_view purpose)
	{
		std::uint64_t hash = Mix64(seed);
		for (const char c : owner)
			hash = Mix64(hash ^ static_cast<unsigned char>(c));
		hash = Mix64(hash ^ 0x1f5); // no two splits of one text are the same
		for (const char c : purpose)
			hash = Mix64(hash ^ static_cast<unsigned char>(c));
		for (std::uint64_t &word : state_)
			word = hash = Mix64(hash);
	}

	std::uint64_t Next()
	{
		const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
		const std::uint64_t t = state_[1] << 17;
		state_[2] ^= state_[0];
		state_[3] ^= state_[1];
		state_[1] ^= state_[2];
		state_[0] ^= state_[3];
		state_[2] ^= t;
		state_[3] = std::rotl(state_[3], 45);
		return result;
	}

	/// Uniform in [0, below), below at most 2^63; its bias is below 2^-64 x below.
	std::int64_t Below(std::int64_t below)
	{
		return static_cast<std::int64_t>(static_cast<unsigned __int128>(Next()) *
							 static_cast<std::uint64_t>(below) >>
						 64);
	}

	/// Uniform in (0, 1).
	double Unit() { return (static_cast<double>(Next() >> 11) + 0.5) * 0x1p-53; }

private:
	std::uint64_t state_[4];
};

} // namespace keepon::sim
