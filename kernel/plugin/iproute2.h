/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What our plugins share with `ip` and `tc`, which export it without headers for others. It is the
 * same from iproute2 5.9 to 7.1: struct link_util since 4.20, struct qdisc_util since 5.9. No version
 * says when that changes, so a plugin looks at a struct of the program's own when it is loaded.
 */
#ifndef KEEPON_IPROUTE2_H
#define KEEPON_IPROUTE2_H

#include <dlfcn.h>
#include <link.h>
#include <linux/genetlink.h>
#include <linux/rtnetlink.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/**
 * struct link_util - a kind of link to `ip`, by the symbol KIND_link_util
 * @next: of the program's list
 * @id: the kind
 * @maxattr: the last attribute
 * @parse_opt: words behind the kind into a message; not 0: an error was printed
 * @print_opt: attributes as words
 * @print_xstats: unused here, as are both that follow @print_help
 * @print_help: what @parse_opt takes
 */
struct link_util {
	struct link_util *next;
	const char *id;
	int maxattr;
	int (*parse_opt)(struct link_util *link, int argc, char **argv, struct nlmsghdr *message);
	void (*print_opt)(struct link_util *link, FILE *file, struct rtattr *tb[]);
	void (*print_xstats)(struct link_util *link, FILE *file, struct rtattr *attribute);
	void (*print_help)(struct link_util *link, int argc, char **argv, FILE *file);
	void (*parse_ifla_xstats)(void);
	void (*print_ifla_xstats)(void);
};

/**
 * struct qdisc_util - a kind of qdisc to `tc`, by the symbol KIND_qdisc_util
 * @next: of the program's list
 * @id: the kind
 * @parse_qopt: words behind the kind into a message; not 0: an error was printed
 * @print_qopt: attributes as words
 * @print_xstats: statistics of its own
 * @parse_copt: unused here, as are both that follow
 */
struct qdisc_util {
	struct qdisc_util *next;
	const char *id;
	int (*parse_qopt)(const struct qdisc_util *qdisc, int argc, char **argv,
			  struct nlmsghdr *message, const char *device);
	int (*print_qopt)(const struct qdisc_util *qdisc, FILE *file, struct rtattr *options);
	int (*print_xstats)(const struct qdisc_util *qdisc, FILE *file, struct rtattr *attribute);
	void (*parse_copt)(void);
	void (*print_copt)(void);
	void (*has_block)(void);
};

/* A netlink socket, the program's affair: 56 bytes, with as many and more to spare. */
struct rtnl_handle {
	uint64_t room[16];
};

enum output_type { PRINT_FP = 1, PRINT_JSON = 2, PRINT_ANY = 4 };
enum { COLOR_NONE = 6 };

int addattr8(struct nlmsghdr *message, int bytes_max, int type, __u8 value);
int addattr32(struct nlmsghdr *message, int bytes_max, int type, __u32 value);
int addattr64(struct nlmsghdr *message, int bytes_max, int type, __u64 value);
int addattr_l(struct nlmsghdr *message, int bytes_max, int type, const void *data, int bytes);
struct rtattr *addattr_nest(struct nlmsghdr *message, int bytes_max, int type);
int addattr_nest_end(struct nlmsghdr *message, struct rtattr *nest);
int parse_rtattr(struct rtattr *tb[], int last, struct rtattr *first, int bytes);
int parse_rtattr_flags(struct rtattr *tb[], int last, struct rtattr *first, int bytes,
		       unsigned short flags);

int rtnl_open_byproto(struct rtnl_handle *handle, unsigned int groups, int protocol);
int rtnl_talk(struct rtnl_handle *handle, struct nlmsghdr *message, struct nlmsghdr **answer);
int rtnl_talk_suppress_rtnl_errmsg(struct rtnl_handle *handle, struct nlmsghdr *message,
				   struct nlmsghdr **answer);
int genl_resolve_family(struct rtnl_handle *handle, const char *family);

int get_u32(__u32 *value, const char *word, int base);
int get_u64(__u64 *value, const char *word, int base);
int get_rate64(__u64 *bytes_per_s, const char *word);

void open_json_object(const char *name);
void close_json_object(void);
void open_json_array(enum output_type type, const char *name);
void close_json_array(enum output_type type, const char *delimiter);
void print_nl(void);
int print_color_string(enum output_type type, int color, const char *key, const char *format,
		       const char *value);
int print_color_uint(enum output_type type, int color, const char *key, const char *format,
		     unsigned int value);
int print_color_u64(enum output_type type, int color, const char *key, const char *format,
		    uint64_t value);

#define print_string(type, key, format, value) \
	print_color_string(type, COLOR_NONE, key, format, value)
#define print_uint(type, key, format, value) print_color_uint(type, COLOR_NONE, key, format, value)
#define print_u64(type, key, format, value) print_color_u64(type, COLOR_NONE, key, format, value)

static inline __u8 attr_u8(const struct rtattr *attribute)
{
	return *(const __u8 *)RTA_DATA(attribute);
}

static inline __u32 attr_u32(const struct rtattr *attribute)
{
	__u32 value;

	memcpy(&value, RTA_DATA(attribute), sizeof(value));
	return value;
}

static inline __u64 attr_u64(const struct rtattr *attribute)
{
	__u64 value;

	memcpy(&value, RTA_DATA(attribute), sizeof(value));
	return value;
}

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
