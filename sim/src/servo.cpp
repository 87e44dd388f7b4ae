// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/servo.hpp"

#include <algorithm>

namespace keepon::sim
{

std::int64_t MovingMedian::Add(std::int64_t value)
{
	values_.push_back(value);
	if (values_.size() > samples_)
		values_.pop_front();
	sorted_.assign(values_.begin(), values_.end());
	std::sort(sorted_.begin(), sorted_.end());
	const std::size_t middle = sorted_.size() / 2;
	if (sorted_.size() % 2)
		return sorted_[middle];
	return FloorDiv(sorted_[middle - 1] + sorted_[middle], 2);
}

} // namespace keepon::sim
