// SPDX-License-Identifier: GPL-2.0-only
/*
 * Class tables in parts (uapi/keepon_table.h). The description of a link has to fit one message
 * together with all other attributes of the device: a class table in it would break every listing
 * of the machine's interfaces.
 *
 * A table that is handed over belongs to the socket it came by until a link takes a copy: so a
 * program that dies halfway leaves nothing behind, and one request adds a link with its table.
 */
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <net/genetlink.h>

#include "keepon.h"
#include "uapi/keepon_table.h"

/* Masks of one part: with its header it fits the one or two pages of a usual message. */
enum { PART_SLOTS = 2048 };

enum { OFFER_BITS = 12 };

/*
 * struct offered - a table handed over, in full or in part
 * @net, @port: the socket it came by
 * @arrived: of @count masks
 */
struct offered {
	struct hlist_node by_port;
	struct hlist_node by_id;
	const struct net *net;
	u32 port;
	u64 id;
	u32 count;
	u32 arrived;
	u16 *masks;
};

static struct genl_family family;

/*
 * An owner of a network namespace may offer as many tables as memory allows, and every generic
 * netlink socket of the machine looks for its tables when it is closed: hence the hash tables.
 */
static DEFINE_HASHTABLE(offers_by_port, OFFER_BITS);
static DEFINE_HASHTABLE(offers_by_id, OFFER_BITS);
static DEFINE_MUTEX(offers_lock);
static u32 offers_seed;

u64 keepon_table_new_id(void)
{
	u64 id;

	do
		id = get_random_u64();
	while (!id);
	return id;
}

/* A program may choose its port, but not the bucket. */
static u32 port_key(u32 port)
{
	return jhash_1word(port, offers_seed);
}

static void withdraw_locked(struct offered *offer)
{
	hash_del(&offer->by_port);
	hash_del(&offer->by_id);
	kvfree(offer->masks);
	kfree(offer);
}

static struct offered *find_locked(const struct net *net, u32 port)
{
	struct offered *offer;

	hash_for_each_possible(offers_by_port, offer, by_port, port_key(port))
	{
		if (offer->net == net && offer->port == port)
			return offer;
	}
	return NULL;
}

int keepon_table_take(u64 id, u16 **masks, u32 *count)
{
	struct offered *offer;
	int error = -ENOENT;

	mutex_lock(&offers_lock);
	hash_for_each_possible(offers_by_id, offer, by_id, id)
	{
		if (offer->id != id || offer->arrived != offer->count)
			continue;
		*count = offer->count;
		*masks = kvmalloc_array(offer->count, sizeof(**masks), GFP_KERNEL_ACCOUNT);
		if (*masks)
			memcpy(*masks, offer->masks, offer->count * sizeof(**masks));
		error = *masks ? 0 : -ENOMEM;
		break;
	}
	mutex_unlock(&offers_lock);
	return error;
}

/* ---- requests ---- */

static struct sk_buff *begin_answer(struct genl_info *info, u8 command, u32 masks, void **header)
{
	struct sk_buff *answer =
		genlmsg_new(nla_total_size_64bit(sizeof(u64)) + 3 * nla_total_size(sizeof(u32)) +
				    nla_total_size(masks * sizeof(u16)),
			    GFP_KERNEL);

	if (!answer)
		return NULL;
	*header = genlmsg_put_reply(answer, info, &family, 0, command);
	if (*header)
		return answer;
	nlmsg_free(answer);
	return NULL;
}

static int send_answer(struct genl_info *info, struct sk_buff *answer, void *header, int error)
{
	if (error) {
		nlmsg_free(answer);
		return error;
	}
	genlmsg_end(answer, header);
	return genlmsg_reply(answer, info);
}

static int tell_limits(struct sk_buff *skb, struct genl_info *info)
{
	void *header;
	struct sk_buff *answer = begin_answer(info, KEEPON_CMD_LIMITS, 0, &header);

	if (!answer)
		return -ENOMEM;
	return send_answer(info, answer, header,
			   nla_put_u32(answer, KEEPON_TABLE_SLOTS, KPN_PARTITION_SLOTS_MAX) ?:
				   nla_put_u32(answer, KEEPON_TABLE_PART_SLOTS, PART_SLOTS));
}

/* The setup of the link of this namespace with table @id, or NULL. */
static const struct keepon_setup *find_setup(struct net *net, u64 id)
{
	struct net_device *dev;

	for_each_netdev(net, dev)
	{
		const struct keepon *keepon = netdev_priv(dev);

		if (keepon_is(dev) && keepon->setup.table == id && keepon->setup.allowed)
			return &keepon->setup;
	}
	return NULL;
}

static int put_part(struct sk_buff *answer, const struct keepon_setup *setup, u32 offset, u32 masks)
{
	return nla_put_u64_64bit(answer, KEEPON_TABLE_ID, setup->table, KEEPON_TABLE_PAD) ?:
		       nla_put_u32(answer, KEEPON_TABLE_SLOTS, setup->allowed_count)      ?:
		       nla_put_u32(answer, KEEPON_TABLE_OFFSET, offset)                   ?:
		       nla_put(answer, KEEPON_TABLE_MASKS, masks * sizeof(u16),
			       setup->allowed + offset);
}

static int get_part(struct sk_buff *skb, struct genl_info *info)
{
	u32 offset = info->attrs[KEEPON_TABLE_OFFSET] ?
			     nla_get_u32(info->attrs[KEEPON_TABLE_OFFSET]) :
			     0;
	const struct keepon_setup *setup;
	struct sk_buff *answer;
	void *header;
	int error = -EINVAL;
	u32 masks;

	if (GENL_REQ_ATTR_CHECK(info, KEEPON_TABLE_ID))
		return -EINVAL;
	rtnl_lock();
	setup = find_setup(genl_info_net(info), nla_get_u64(info->attrs[KEEPON_TABLE_ID]));
	if (!setup) {
		NL_SET_ERR_MSG_MOD(info->extack,
				   "no link has this class table (any more); read the link again");
		error = -ENOENT;
		goto unlock;
	}
	if (offset >= setup->allowed_count) {
		keepon_refuse(info->extack, "offset", offset, setup->allowed_count - 1,
			      "ask within the table");
		goto unlock;
	}
	masks = min_t(u32, setup->allowed_count - offset, PART_SLOTS);
	answer = begin_answer(info, KEEPON_CMD_TABLE_GET, masks, &header);
	error = answer ? send_answer(info, answer, header, put_part(answer, setup, offset, masks)) :
			 -ENOMEM;
unlock:
	rtnl_unlock();
	return error;
}

/* Begin a new table in place of any earlier one of the socket. */
static struct offered *begin_locked(struct genl_info *info, u32 count)
{
	struct offered *offer = find_locked(genl_info_net(info), info->snd_portid);

	if (offer)
		withdraw_locked(offer);
	offer = kzalloc(sizeof(*offer), GFP_KERNEL_ACCOUNT);
	if (!offer)
		return NULL;
	offer->masks = kvmalloc_array(count, sizeof(u16), GFP_KERNEL_ACCOUNT);
	if (!offer->masks) {
		kfree(offer);
		return NULL;
	}
	offer->net = genl_info_net(info);
	offer->port = info->snd_portid;
	offer->id = keepon_table_new_id();
	offer->count = count;
	hash_add(offers_by_port, &offer->by_port, port_key(offer->port));
	hash_add(offers_by_id, &offer->by_id, offer->id);
	return offer;
}

static int take_part_locked(struct genl_info *info, u64 *id, u32 *arrived)
{
	const struct nlattr *part = info->attrs[KEEPON_TABLE_MASKS];
	u32 count = nla_get_u32(info->attrs[KEEPON_TABLE_SLOTS]);
	u32 offset = nla_get_u32(info->attrs[KEEPON_TABLE_OFFSET]);
	u32 masks = nla_len(part) / sizeof(u16);
	struct offered *offer;

	if (!count || count > KPN_PARTITION_SLOTS_MAX || !masks || masks > count ||
	    nla_len(part) % sizeof(u16)) {
		NL_SET_ERR_MSG_MOD(
			info->extack,
			"a class table has 1 to 65536 masks of 2 bytes, and a part no more than the table; give it in parts");
		return -EINVAL;
	}
	offer = offset ? find_locked(genl_info_net(info), info->snd_portid) :
			 begin_locked(info, count);
	if (!offer && !offset)
		return -ENOMEM;
	if (!offer || offer->count != count || offer->arrived != offset || masks > count - offset) {
		NL_SET_ERR_MSG_MOD(
			info->extack,
			"this part does not follow the last one; begin again with offset 0");
		return -EINVAL;
	}
	memcpy(offer->masks + offset, nla_data(part), masks * sizeof(u16));
	offer->arrived += masks;
	*arrived = offer->arrived;
	*id = offer->id;
	return 0;
}

static int take_part(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *answer;
	void *header;
	u32 arrived;
	int error;
	u64 id;

	if (GENL_REQ_ATTR_CHECK(info, KEEPON_TABLE_SLOTS) ||
	    GENL_REQ_ATTR_CHECK(info, KEEPON_TABLE_OFFSET) ||
	    GENL_REQ_ATTR_CHECK(info, KEEPON_TABLE_MASKS))
		return -EINVAL;
	mutex_lock(&offers_lock);
	error = take_part_locked(info, &id, &arrived);
	mutex_unlock(&offers_lock);
	if (error)
		return error;
	answer = begin_answer(info, KEEPON_CMD_TABLE_PUT, 0, &header);
	if (!answer)
		return -ENOMEM;
	return send_answer(info, answer, header,
			   nla_put_u64_64bit(answer, KEEPON_TABLE_ID, id, KEEPON_TABLE_PAD) ?:
				   nla_put_u32(answer, KEEPON_TABLE_OFFSET, arrived));
}

/* ---- family ---- */

static const struct nla_policy policy[KEEPON_TABLE_MAX + 1] = {
	[KEEPON_TABLE_ID] = { .type = NLA_U64 },
	[KEEPON_TABLE_SLOTS] = { .type = NLA_U32 },
	[KEEPON_TABLE_OFFSET] = { .type = NLA_U32 },
	[KEEPON_TABLE_MASKS] = { .type = NLA_BINARY, .len = PART_SLOTS * sizeof(u16) },
};

static const struct genl_small_ops requests[] = {
	{ .cmd = KEEPON_CMD_LIMITS, .doit = tell_limits },
	{ .cmd = KEEPON_CMD_TABLE_GET, .doit = get_part },
	{ .cmd = KEEPON_CMD_TABLE_PUT, .doit = take_part, .flags = GENL_UNS_ADMIN_PERM },
};

static struct genl_family family __ro_after_init = {
	.name = KEEPON_TABLE_FAMILY,
	.version = KEEPON_TABLE_VERSION,
	.maxattr = KEEPON_TABLE_MAX,
	.policy = policy,
	.netnsok = true,
	.module = THIS_MODULE,
	.small_ops = requests,
	.n_small_ops = ARRAY_SIZE(requests),
	.resv_start_op = KEEPON_CMD_TABLE_PUT + 1,
};

/* A closed socket offers nothing any more. */
static int socket_event(struct notifier_block *block, unsigned long event, void *data)
{
	const struct netlink_notify *closed = data;
	struct offered *offer;

	if (event != NETLINK_URELEASE || closed->protocol != NETLINK_GENERIC)
		return NOTIFY_DONE;
	mutex_lock(&offers_lock);
	offer = find_locked(closed->net, closed->portid);
	if (offer)
		withdraw_locked(offer);
	mutex_unlock(&offers_lock);
	return NOTIFY_DONE;
}

static struct notifier_block sockets = {
	.notifier_call = socket_event,
};

int keepon_table_register(void)
{
	int error;

	offers_seed = get_random_u32();
	error = netlink_register_notifier(&sockets);
	if (error)
		return error;
	error = genl_register_family(&family);
	if (error)
		netlink_unregister_notifier(&sockets);
	return error;
}

void keepon_table_unregister(void)
{
	struct hlist_node *next;
	struct offered *offer;
	int bucket;

	genl_unregister_family(&family);
	netlink_unregister_notifier(&sockets);
	hash_for_each_safe(offers_by_port, bucket, next, offer, by_port) withdraw_locked(offer);
}
