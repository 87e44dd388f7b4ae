// SPDX-License-Identifier: BSD-3-Clause
// Reads one Python dict as a specification: every value has a range, every key is known, and what
// is wrong is said in one sentence with key, value and range.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "keepon/sim/types.hpp"

namespace keepon::sim::bind
{

namespace nb = nanobind;

using Choices = std::vector<std::pair<const char *, int>>;

class SpecReader
{
public:
	/// \param where  what the dict describes, first words of every message
	SpecReader(nb::dict dict, std::string where)
		: dict_(std::move(dict)), where_(std::move(where))
	{
	}

	bool Has(const char *key);
	std::int64_t Integer(const char *key, std::int64_t min, std::int64_t max,
			     std::optional<std::int64_t> fallback = {});
	std::optional<std::int64_t> OptionalInteger(const char *key, std::int64_t min,
						    std::int64_t max);
	double Number(const char *key, double min, double max, double fallback);
	bool Flag(const char *key, bool fallback);
	std::string Text(const char *key);
	std::string Text(const char *key, const std::string &fallback);
	int Choice(const char *key, const Choices &choices, std::optional<int> fallback = {});
	std::optional<int> OptionalChoice(const char *key, const Choices &choices);
	/// Number of a word among \p words, which have bars between them.
	std::optional<std::int64_t> OptionalWord(const char *key, std::string words);
	std::vector<std::int64_t> Integers(const char *key, std::int64_t min, std::int64_t max,
					   std::size_t count_max);
	/// A dict within; empty if the key is missing.
	SpecReader Table(const char *key);
	/// The value itself; None if the key is missing.
	nb::object Raw(const char *key);
	/// Every key must have been asked for.
	void Finish() const;

	const std::string &Where() const { return where_; }
	nb::dict Dict() const { return dict_; }
	[[noreturn]] void Fail(const char *key, const std::string &value,
			       const std::string &expected) const;

private:
	nb::object Find(const char *key);

	nb::dict dict_;
	std::string where_;
	std::set<std::string> known_;
};

/// \p value as an int64 in [min, max], or the message of \p reader.
std::int64_t ToInteger(const SpecReader &reader, const char *key, nb::handle value,
		       std::int64_t min, std::int64_t max);
std::string Repr(nb::handle value);

} // namespace keepon::sim::bind
