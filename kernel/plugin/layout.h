/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin is right for a layout of iproute2's struct, not for a version: struct link_util is the
 * same since 4.20, struct qdisc_util since 5.9, both to 7.1, and nothing says so. So a plugin looks
 * at one of the program's own when it is loaded.
 */
#ifndef KEEPON_LAYOUT_H
#define KEEPON_LAYOUT_H

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/**
 * layout_check() - end the program if its plugins are laid out otherwise, for it would take
 * something else of ours for a function
 * @symbol: a struct of the program's own
 * @id: the name that stands in it
 * @id_at: where ours has the name, bytes
 * @bytes: size of ours
 */
static inline void layout_check(const char *symbol, const char *id, size_t id_at, size_t bytes)
{
	const char *theirs = dlsym(RTLD_DEFAULT, symbol);
	const ElfW(Sym) *entry = NULL;
	const char *name;
	Dl_info place;

	if (theirs && dladdr1(theirs, &place, (void **)&entry, RTLD_DL_SYMENT) && entry &&
	    entry->st_size == bytes) {
		memcpy(&name, theirs + id_at, sizeof(name));
		if (name && !strcmp(name, id))
			return;
	}
	fputs("Keepon's plugin was built for an iproute2 whose plugins are laid out otherwise:"
	      " install keepon-tools of this release, or purge it\n",
	      stderr);
	_exit(1);
}

#endif
