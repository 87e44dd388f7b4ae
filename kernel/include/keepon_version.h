/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The version of Keepon, in its only place. CMakeLists.txt and pyproject.toml read this line; the
 * wheel, keepon --version, the tools and the Debian packages carry the version.
 */
#ifndef KEEPON_VERSION_H
#define KEEPON_VERSION_H

#define KEEPON_VERSION "0.1.0"

#endif
