// SPDX-License-Identifier: BSD-3-Clause
// Release "sleep": the application sleeps until the time itself, and nobody else knows it.
#include "keepon/sim/release_kind.hpp"

namespace keepon::sim
{

namespace
{

const Registry<ReleaseKind>::Entry kEntry{ "sleep", { false, nullptr } };

} // namespace

} // namespace keepon::sim
