// SPDX-License-Identifier: BSD-3-Clause
// The door to the C parts: the core's public headers and the NIC model, with C linkage. Nothing
// else includes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wdeprecated-enum-enum-conversion" // meant in C
extern "C" {
#include "keepon/dual.h"
#include "keepon/errno.h"
#include "keepon/guard.h"
#include "keepon/pacer.h"
#include "keepon/wire.h"
}
#pragma GCC diagnostic pop
#include "nicmodel/ring_nic.h"
