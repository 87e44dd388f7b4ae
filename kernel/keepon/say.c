// SPDX-License-Identifier: GPL-2.0-only
/* Sentences for users: in the answer of netlink, or in the log where there is no answer. */
#include <linux/rtnetlink.h>

#include "keepon.h"

/*
 * The kernel's own buffer for a formatted sentence holds 80 characters and is not in 6.1. An answer
 * is copied shortly after RTNL is released; rotating buffers keep the sentence until then.
 */
void keepon_explain(struct netlink_ext_ack *extack, const char *format, ...)
{
	static char sentences[64][256];
	static unsigned int next;
	char *sentence;
	va_list args;

	ASSERT_RTNL();
	if (!extack)
		return;
	sentence = sentences[next++ % ARRAY_SIZE(sentences)];
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentences[0]), format, args);
	va_end(args);
	extack->_msg = sentence;
}

int keepon_refuse(struct netlink_ext_ack *extack, const char *name, u64 value, u64 max,
		  const char *remedy)
{
	keepon_explain(extack, "%s %llu is not within 0 to %llu: %s.", name, value, max, remedy);
	return -EINVAL;
}

void keepon_qdisc_say(const struct net_device *dev, const char *qdisc, struct netlink_ext_ack *to,
		      const struct netlink_ext_ack *extack)
{
	if (to)
		to->_msg = extack->_msg;
	else if (net_ratelimit())
		netdev_info(dev, "%s: %s\n", qdisc, extack->_msg);
}
