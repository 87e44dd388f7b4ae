// SPDX-License-Identifier: BSD-3-Clause
// What is known of an address: a table with open addressing, which is filled before the start and
// then only looked up.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "keepon/sim/frame_header.hpp"

namespace keepon::sim
{

template <class Value>
class AddressTable
{
public:
	/// The value of FrameHeader::Address() \p address, made if there is none. References last
	/// until the next one is made.
	Value &operator[](std::uint64_t address)
	{
		if (Value *found = Find(address))
			return *found;
		entries_.emplace_back(address, Value());
		if (places_.size() < entries_.size() * 4)
			Rebuild();
		else
			Place(entries_.size() - 1);
		return entries_.back().second;
	}

	/// NULL if nothing is known of \p address.
	Value *Find(std::uint64_t address)
	{
		if (places_.empty())
			return nullptr;
		for (std::size_t at = Hash(address);; at++) {
			const std::uint32_t place = places_[at & (places_.size() - 1)];
			if (place == 0)
				return nullptr;
			if (entries_[place - 1].first == address)
				return &entries_[place - 1].second;
		}
	}

	std::size_t Count() const { return entries_.size(); }

private:
	static std::size_t Hash(std::uint64_t address)
	{
		return static_cast<std::size_t>(address * 0x9e3779b97f4a7c15u >> 32);
	}

	void Place(std::size_t entry)
	{
		std::size_t at = Hash(entries_[entry].first);
		while (places_[at & (places_.size() - 1)])
			at++;
		places_[at & (places_.size() - 1)] = static_cast<std::uint32_t>(entry + 1);
	}

	void Rebuild()
	{
		places_.assign(places_.empty() ? 16 : places_.size() * 2, 0);
		for (std::size_t i = 0; i < entries_.size(); i++)
			Place(i);
	}

	std::vector<std::pair<std::uint64_t, Value>> entries_;
	std::vector<std::uint32_t> places_; // index of an entry plus one; 0: free
};

} // namespace keepon::sim
