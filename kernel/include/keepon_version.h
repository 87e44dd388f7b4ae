/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The version of Keepon; this is its only place. CMakeLists.txt and pyproject.toml read this line, and what they make
 * (the wheel, keepon --version, the tools, the Debian packages) carries it.
 */
#ifndef KEEPON_VERSION_H
#define KEEPON_VERSION_H

#define KEEPON_VERSION "0.1.0"

#endif
