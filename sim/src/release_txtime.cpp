// SPDX-License-Identifier: BSD-3-Clause
// Release "txtime": the driver gets frames with their times at once and keeps to them.
#include "keepon/sim/release_kind.hpp"

namespace keepon::sim
{

namespace
{

const Registry<ReleaseKind>::Entry kEntry{ "txtime", { true, nullptr } };

} // namespace

} // namespace keepon::sim
