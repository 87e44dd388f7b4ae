// SPDX-License-Identifier: BSD-3-Clause
// A FIFO that keeps its memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace keepon::sim
{

template <class Entry>
class Fifo
{
public:
	bool Empty() const { return count_ == 0; }
	std::size_t Count() const { return count_; }
	const Entry &Front() const { return entries_[first_]; }

	void Push(const Entry &entry)
	{
		if (count_ == entries_.size())
			Grow();
		entries_[(first_ + count_++) & (entries_.size() - 1)] = entry;
	}

	/// Push \p entry, before those of the end that it is \p before.
	template <class Before>
	void Insert(const Entry &entry, Before before)
	{
		Push(entry);
		for (std::size_t i = count_ - 1; i > 0 && before(At(i), At(i - 1)); i--)
			std::swap(At(i), At(i - 1));
	}

	Entry Pop()
	{
		const Entry entry = entries_[first_];
		first_ = (first_ + 1) & (entries_.size() - 1);
		count_--;
		return entry;
	}

private:
	Entry &At(std::size_t i) { return entries_[(first_ + i) & (entries_.size() - 1)]; }

	void Grow()
	{
		std::vector<Entry> larger(std::max<std::size_t>(8, entries_.size() * 2));
		for (std::size_t i = 0; i < count_; i++)
			larger[i] = At(i);
		entries_ = std::move(larger);
		first_ = 0;
	}

	std::vector<Entry> entries_;
	std::size_t first_ = 0;
	std::size_t count_ = 0;
};

} // namespace keepon::sim
