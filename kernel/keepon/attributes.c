// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink attributes of a link: a row has the name, the width and the place in the plan of
 * each. Policy, size, reading and writing of messages follow from the rows. Attributes that users
 * set come from keepon/config_fields.h, checked by the core, and from keepon_options.h.
 */
#include <linux/rtnetlink.h>
#include <linux/slab.h>

#include "keepon.h"
#include "keepon_options.h"

/*
 * struct keepon_attribute - one row
 * @name: for users and messages
 * @type: NLA_*
 * @read_only: follows from the lower device, or from the other attributes
 * @running: reported only while the wire runs
 * @offset, @bytes: of its member of struct keepon_plan; 0 bytes: no member
 * @max: greatest number; 0: the core checks it
 * @unit, @sentence: as in the rows of keepon_options.h
 * @take: reads an attribute that is not a number
 * @put: writes @put_bytes of an attribute that is not a number
 */
struct keepon_attribute {
	const char *name;
	u8 type;
	bool read_only;
	bool running;
	u16 offset;
	u8 bytes;
	u64 max;
	const char *unit;
	const char *sentence;
	int (*take)(struct keepon_setup *setup, struct nlattr *data[],
		    struct netlink_ext_ack *extack);
	u16 put_bytes;
	int (*put)(struct sk_buff *skb, int attribute, const struct keepon *keepon);
};

enum { BYTES_bool = 1, BYTES_u8 = 1, BYTES_u32 = 4, BYTES_u64 = 8 };
enum { NLA_bool = NLA_U8, NLA_u8 = NLA_U8, NLA_u32 = NLA_U32, NLA_u64 = NLA_U64 };
/* A bool is checked here: the core cannot see any other number in it. */
enum { CHECKED_bool = 1, CHECKED_u8 = 0, CHECKED_u32 = 0, CHECKED_u64 = 0 };

/* A number as wide as its member: user space relies on the width. */
#define MEMBER(width, member)                                                \
	.type = NLA_##width, .offset = offsetof(struct keepon_plan, member), \
	.bytes = BYTES_##width +                                             \
		 BUILD_BUG_ON_ZERO(sizeof_field(struct keepon_plan, member) != BYTES_##width)
#define FIELD(field, type_, option, attribute, unit_, min_, max_, default_, sentence_) \
	[IFLA_KEEPON_##attribute] = { .name = #option,                                 \
				      .unit = (unit_),                                 \
				      .sentence = (sentence_),                         \
				      .max = CHECKED_##type_,                          \
				      MEMBER(type_, config.field) },
#define OPTION(member, type_, option, attribute, unit_, min_, max_, default_, sentence_) \
	[IFLA_KEEPON_##attribute] = { .name = #option,                                   \
				      .unit = (unit_),                                   \
				      .sentence = (sentence_),                           \
				      .max = (max_),                                     \
				      MEMBER(type_, member) },
#define LIMIT(member, type_, name_, attribute)                                            \
	[IFLA_KEEPON_##attribute] = {                                                     \
		.name = #name_, .read_only = true, .running = true, MEMBER(type_, member) \
	},

static int take_allowed(struct keepon_setup *setup, struct nlattr *data[],
			struct netlink_ext_ack *extack);
static int take_table(struct keepon_setup *setup, struct nlattr *data[],
		      struct netlink_ext_ack *extack);
static int take_classes(struct keepon_setup *setup, struct nlattr *data[],
			struct netlink_ext_ack *extack);
static int put_table(struct sk_buff *skb, int attribute, const struct keepon *keepon);
static int put_classes(struct sk_buff *skb, int attribute, const struct keepon *keepon);
static int put_class_slots(struct sk_buff *skb, int attribute, const struct keepon *keepon);

static const struct keepon_attribute rows[IFLA_KEEPON_MAX + 1] = {
	[IFLA_KEEPON_ALLOWED] = { .name = "allowed", .type = NLA_BINARY, .take = take_allowed },
	[IFLA_KEEPON_CLASSES] = { .name = "classes",
				  .type = NLA_BINARY,
				  .take = take_classes,
				  .put_bytes = 2 * KEEPON_CLASS_COUNT,
				  .put = put_classes },
	[IFLA_KEEPON_RATE_BPS] = { .name = "rate",
				   .read_only = true,
				   MEMBER(u64, config.rate_bps) },
	[IFLA_KEEPON_TABLE] = { .name = "table",
				.type = NLA_U64,
				.take = take_table,
				.put_bytes = sizeof(u64),
				.put = put_table },
	[IFLA_KEEPON_CLASS_SLOTS] = { .name = "class_slots",
				      .type = NLA_BINARY,
				      .read_only = true,
				      .put_bytes = KEEPON_CLASS_COUNT * sizeof(u32),
				      .put = put_class_slots },
	KPN_CONFIG_FIELDS(FIELD) KEEPON_OPTIONS(OPTION) KEEPON_LIMITS(LIMIT)
};

struct nla_policy keepon_policy[IFLA_KEEPON_MAX + 1] __ro_after_init;

void keepon_attributes_init(void)
{
	int attribute;

	for (attribute = 1; attribute <= IFLA_KEEPON_MAX; attribute++)
		keepon_policy[attribute].type = rows[attribute].type;
}

/* ---- from messages ---- */

void keepon_setup_init(struct keepon_setup *setup)
{
	memset(setup, 0, sizeof(*setup));
	memset(setup->classes, KEEPON_CLASS_KEEP, sizeof(setup->classes));
}

void keepon_setup_free(struct keepon_setup *setup)
{
	kvfree(setup->allowed);
	keepon_setup_init(setup);
}

static u16 *copy_masks(const u16 *masks, u32 count)
{
	u16 *copy = kvmalloc_array(count, sizeof(*copy), GFP_KERNEL_ACCOUNT);

	if (copy)
		memcpy(copy, masks, count * sizeof(*copy));
	return copy;
}

int keepon_setup_copy(struct keepon_setup *to, const struct keepon_setup *from)
{
	*to = *from;
	if (!from->allowed)
		return 0;
	to->allowed = copy_masks(from->allowed, from->allowed_count);
	return to->allowed ? 0 : -ENOMEM;
}

/* A new table brings its own length, unless the message has a partition length, too. */
static void set_masks(struct keepon_setup *setup, struct nlattr *data[], u16 *masks, u32 count,
		      u64 id)
{
	if (!data[IFLA_KEEPON_PARTITION_SLOTS])
		setup->given &= ~BIT_ULL(IFLA_KEEPON_PARTITION_SLOTS);
	kvfree(setup->allowed);
	setup->allowed = masks;
	setup->allowed_count = count;
	setup->table = id;
}

static int take_allowed(struct keepon_setup *setup, struct nlattr *data[],
			struct netlink_ext_ack *extack)
{
	const struct nlattr *attribute = data[IFLA_KEEPON_ALLOWED];
	u32 bytes = nla_len(attribute);
	u16 *masks;

	if (data[IFLA_KEEPON_TABLE]) {
		keepon_explain(
			extack,
			"allowed and table both give the class masks; leave one of them out");
		return -EINVAL;
	}
	if (!bytes || bytes % sizeof(u16) || bytes > KEEPON_MASKS_MAX * sizeof(u16)) {
		keepon_explain(
			extack,
			"allowed: %u bytes are no table of 1 to %u masks of 2 bytes; hand longer ones over as a table",
			bytes, KEEPON_MASKS_MAX);
		return -EINVAL;
	}
	masks = copy_masks(nla_data(attribute), bytes / sizeof(u16));
	if (!masks)
		return -ENOMEM;
	set_masks(setup, data, masks, bytes / sizeof(u16), keepon_table_new_id());
	return 0;
}

static int take_table(struct keepon_setup *setup, struct nlattr *data[],
		      struct netlink_ext_ack *extack)
{
	u64 id = nla_get_u64(data[IFLA_KEEPON_TABLE]);
	u16 *masks;
	u32 count;
	int error = keepon_table_take(id, &masks, &count);

	if (error == -ENOENT)
		keepon_explain(
			extack,
			"table %llu: none of this name has been handed over; hand it over whole (generic netlink, family keepon) and keep that socket open",
			id);
	if (error)
		return error == -ENOENT ? -EINVAL : error;
	set_masks(setup, data, masks, count, id);
	return 0;
}

static int take_classes(struct keepon_setup *setup, struct nlattr *data[],
			struct netlink_ext_ack *extack)
{
	const struct nlattr *attribute = data[IFLA_KEEPON_CLASSES];
	const u8 *from = nla_data(attribute);
	u8 *to = &setup->classes[0][0];
	u32 i;

	if (nla_len(attribute) != sizeof(setup->classes)) {
		keepon_explain(extack,
			       "classes: %u bytes are not %u pairs of late policy and rounding",
			       nla_len(attribute), KEEPON_CLASS_COUNT);
		return -EINVAL;
	}
	for (i = 0; i < sizeof(setup->classes); i++) {
		if (from[i] != KEEPON_CLASS_KEEP)
			to[i] = from[i];
	}
	return 0;
}

static u64 number_of(const struct nlattr *attribute, u8 type)
{
	switch (type) {
	case NLA_U8: return nla_get_u8(attribute);
	case NLA_U32: return nla_get_u32(attribute);
	default: return nla_get_u64(attribute);
	}
}

int keepon_setup_take(struct keepon_setup *setup, struct nlattr *data[],
		      struct netlink_ext_ack *extack)
{
	int attribute;

	if (!data)
		return 0;
	for (attribute = 1; attribute <= IFLA_KEEPON_MAX; attribute++) {
		const struct keepon_attribute *row = &rows[attribute];
		int error = 0;

		if (!data[attribute] || !row->name)
			continue;
		if (row->read_only) {
			keepon_explain(extack,
				       "%s follows from the rest and cannot be set; leave it out",
				       row->name);
			return -EINVAL;
		}
		if (row->take)
			error = row->take(setup, data, extack);
		else
			setup->number[attribute] = number_of(data[attribute], row->type);
		if (error)
			return error;
		setup->given |= BIT_ULL(attribute);
	}
	return 0;
}

/* ---- into the plan ---- */

u64 keepon_setup_number(const struct keepon_setup *setup, int attribute, u64 otherwise)
{
	return setup->given >> attribute & 1 ? setup->number[attribute] : otherwise;
}

static void *member(struct keepon_plan *plan, const struct keepon_attribute *row)
{
	return (char *)plan + row->offset;
}

int keepon_setup_lay(const struct keepon_setup *setup, struct keepon_plan *plan,
		     struct netlink_ext_ack *extack)
{
	int attribute;

	for (attribute = 1; attribute <= IFLA_KEEPON_MAX; attribute++) {
		const struct keepon_attribute *row = &rows[attribute];
		u64 number = setup->number[attribute];

		if (!row->bytes || row->read_only || !(setup->given >> attribute & 1))
			continue;
		if (row->max && number > row->max) {
			keepon_explain(extack, "%s %llu is not within 0 to %llu: choose %s%s.",
				       row->name, number, row->max,
				       strchr(row->unit, '|') ? "one of " : "",
				       strchr(row->unit, '|') ? row->unit : row->sentence);
			return -EINVAL;
		}
		switch (row->type) {
		case NLA_U8: *(u8 *)member(plan, row) = number; break;
		case NLA_U32: *(u32 *)member(plan, row) = number; break;
		default: *(u64 *)member(plan, row) = number;
		}
	}
	return 0;
}

/* ---- back into messages ---- */

static int put_table(struct sk_buff *skb, int attribute, const struct keepon *keepon)
{
	return nla_put_u64_64bit(skb, attribute, keepon->setup.table, IFLA_KEEPON_PAD);
}

static int put_classes(struct sk_buff *skb, int attribute, const struct keepon *keepon)
{
	u8 classes[KEEPON_CLASS_COUNT][2];
	u32 tc;

	for (tc = 0; tc < KEEPON_CLASS_COUNT; tc++) {
		classes[tc][0] = keepon->plan.config.classes[tc].late;
		classes[tc][1] = keepon->plan.config.classes[tc].rounding;
	}
	return nla_put(skb, attribute, sizeof(classes), classes);
}

static int put_class_slots(struct sk_buff *skb, int attribute, const struct keepon *keepon)
{
	return nla_put(skb, attribute, sizeof(keepon->plan.class_slots), keepon->plan.class_slots);
}

size_t keepon_attributes_bytes(void)
{
	size_t bytes = 0;
	int attribute;

	for (attribute = 1; attribute <= IFLA_KEEPON_MAX; attribute++) {
		const struct keepon_attribute *row = &rows[attribute];

		if (row->type == NLA_U64)
			bytes += nla_total_size_64bit(sizeof(u64));
		else if (row->bytes || row->put)
			bytes += nla_total_size(row->bytes ?: row->put_bytes);
	}
	return bytes;
}

int keepon_attributes_put(struct sk_buff *skb, const struct keepon *keepon)
{
	int attribute;
	int error = 0;

	for (attribute = 1; attribute <= IFLA_KEEPON_MAX && !error; attribute++) {
		const struct keepon_attribute *row = &rows[attribute];
		const void *from = (const char *)&keepon->plan + row->offset;

		if (row->running && !keepon->engine)
			continue;
		if (row->put)
			error = row->put(skb, attribute, keepon);
		else if (row->bytes && row->type == NLA_U64)
			error = nla_put_u64_64bit(skb, attribute, *(const u64 *)from,
						  IFLA_KEEPON_PAD);
		else if (row->bytes)
			error = nla_put(skb, attribute, row->bytes, from);
	}
	return error;
}
