// SPDX-License-Identifier: BSD-3-Clause
#include "spec_reader.hpp"

#include <cstring>

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cmath>

namespace keepon::sim::bind
{

std::string Repr(nb::handle value)
{
	std::string text = nb::repr(value).c_str();
	if (text.size() > 80)
		text = text.substr(0, 77) + "...";
	return text;
}

void SpecReader::Fail(const char *key, const std::string &value, const std::string &expected) const
{
	throw ValueError(where_ + ": " + key + " = " + value + " is not " + expected);
}

nb::object SpecReader::Find(const char *key)
{
	known_.insert(key);
	PyObject *value = PyDict_GetItemString(dict_.ptr(), key);
	return nb::borrow(value ? value : Py_None);
}

nb::object SpecReader::Raw(const char *key)
{
	return Find(key);
}

bool SpecReader::Has(const char *key)
{
	return !Find(key).is_none();
}

std::int64_t ToInteger(const SpecReader &reader, const char *key, nb::handle value,
		       std::int64_t min, std::int64_t max)
{
	const std::string expected =
		"an integer within " + std::to_string(min) + " to " + std::to_string(max);
	if (PyBool_Check(value.ptr()) || !PyIndex_Check(value.ptr()))
		reader.Fail(key, Repr(value), expected);
	nb::object number = nb::steal(PyNumber_Index(value.ptr()));
	int overflow = 0;
	const std::int64_t result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
	if (overflow != 0 || result < min || result > max)
		reader.Fail(key, Repr(value), expected);
	return result;
}

std::int64_t SpecReader::Integer(const char *key, std::int64_t min, std::int64_t max,
				 std::optional<std::int64_t> fallback)
{
	const auto value = OptionalInteger(key, min, max);
	if (!value && !fallback)
		throw ValueError(where_ + ": " + key + " is missing; give an integer within " +
				 std::to_string(min) + " to " + std::to_string(max));
	return value ? *value : *fallback;
}

std::optional<std::int64_t> SpecReader::OptionalInteger(const char *key, std::int64_t min,
							std::int64_t max)
{
	const nb::object value = Find(key);
	if (value.is_none())
		return {};
	return ToInteger(*this, key, value, min, max);
}

double SpecReader::Number(const char *key, double min, double max, double fallback)
{
	const nb::object value = Find(key);
	if (value.is_none())
		return fallback;
	const double number =
		PyBool_Check(value.ptr()) ? std::nan("") : PyFloat_AsDouble(value.ptr());
	if (PyErr_Occurred())
		PyErr_Clear(); // not a number: said below, with its key
	else if (number >= min && number <= max)
		return number;
	char range[96];
	std::snprintf(range, sizeof(range), "a number within %g to %g", min, max);
	Fail(key, Repr(value), range);
}

bool SpecReader::Flag(const char *key, bool fallback)
{
	const nb::object value = Find(key);
	if (value.is_none())
		return fallback;
	if (!PyBool_Check(value.ptr()))
		Fail(key, Repr(value), "True or False");
	return value.is(nb::handle(Py_True));
}

std::string SpecReader::Text(const char *key)
{
	const nb::object value = Find(key);
	if (!PyUnicode_Check(value.ptr()))
		Fail(key, Repr(value), "a text");
	return nb::cast<std::string>(value);
}

std::string SpecReader::Text(const char *key, const std::string &fallback)
{
	const nb::object value = Raw(key);
	if (value.is_none())
		return fallback;
	if (!PyUnicode_Check(value.ptr()))
		Fail(key, Repr(value), "a text");
	return nb::cast<std::string>(value);
}

int SpecReader::Choice(const char *key, const Choices &choices, std::optional<int> fallback)
{
	const auto value = OptionalChoice(key, choices);
	if (!value && !fallback)
		throw ValueError(where_ + ": " + key + " is missing");
	return value ? *value : *fallback;
}

std::optional<int> SpecReader::OptionalChoice(const char *key, const Choices &choices)
{
	const nb::object value = Find(key);
	if (value.is_none())
		return {};
	std::string expected = "one of";
	for (const auto &[name, number] : choices) {
		if (PyUnicode_Check(value.ptr()) &&
		    PyUnicode_CompareWithASCIIString(value.ptr(), name) == 0)
			return number;
		expected += std::string(" \"") + name + "\"";
	}
	Fail(key, Repr(value), expected);
}

std::optional<std::int64_t> SpecReader::OptionalWord(const char *key, std::string words)
{
	Choices choices;
	int number = 0;
	for (char *word = std::strtok(words.data(), "|"); word; word = std::strtok(nullptr, "|"))
		choices.emplace_back(word, number++);
	return OptionalChoice(key, choices);
}

std::vector<std::int64_t> SpecReader::Integers(const char *key, std::int64_t min, std::int64_t max,
					       std::size_t count_max)
{
	const nb::object value = Find(key);
	if (value.is_none())
		return {};
	nb::object items = nb::steal(PySequence_Fast(value.ptr(), ""));
	if (!items.is_valid()) {
		PyErr_Clear();
		Fail(key, Repr(value), "a sequence of integers");
	}
	const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.ptr()));
	if (count > count_max)
		Fail(key, std::to_string(count) + " entries",
		     "at most " + std::to_string(count_max) + " long");
	std::vector<std::int64_t> result;
	result.reserve(count);
	for (std::size_t i = 0; i < count; i++)
		result.push_back(
			ToInteger(*this, key,
				  PySequence_Fast_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i)),
				  min, max));
	return result;
}

SpecReader SpecReader::Table(const char *key)
{
	const nb::object value = Find(key);
	if (!value.is_none() && !PyDict_Check(value.ptr()))
		Fail(key, Repr(value), "a dict");
	return { value.is_none() ? nb::dict() : nb::cast<nb::dict>(value), where_ + " " + key };
}

void SpecReader::Finish() const
{
	for (const auto &[key, value] : dict_) {
		const std::string name = nb::str(key).c_str();
		if (known_.count(name))
			continue;
		std::string list;
		for (const std::string &known : known_)
			list += (list.empty() ? "" : ", ") + known;
		throw ValueError(where_ + ": unknown key \"" + name + "\"; known are " + list);
	}
}

} // namespace keepon::sim::bind
