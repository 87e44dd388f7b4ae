// SPDX-License-Identifier: BSD-3-Clause
// The specifications of sim/spec.hpp as classes of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "keepon/sim/ptp_spec.hpp"
#include "keepon/sim/spec.hpp"

namespace keepon::sim::bind
{

void BindSpecs(nanobind::module_ &m);

/// \p value itself, or one with the attributes that a dict names; None leaves the default.
/// \param where  first words of what is wrong with it
/// \throws ValueError
template <class Spec>
Spec Made(nanobind::handle value, const std::string &where);

/// Of a number that stands for one of \p words, which have bars between them.
std::string WordOf(std::uint64_t number, std::string words);

} // namespace keepon::sim::bind
