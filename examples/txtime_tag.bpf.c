// SPDX-License-Identifier: BSD-3-Clause
/*
 * In a guest: frames with a txtime of CLOCK_TAI (SO_TXTIME) carry it to the host in a tag, since
 * virtio has none. keepon-relay sends them at it (docs/programs.md). For Linux 6.1 and newer:
 *
 *     clang -O2 -target bpf -I /usr/include/$(uname -m)-linux-gnu -c txtime_tag.bpf.c
 *     tc qdisc replace dev eth0 clsact
 *     tc filter replace dev eth0 egress bpf direct-action object-file txtime_tag.bpf.o section tag
 *
 * The tag stands behind the addresses: EtherType 0x88b6, kind 0, priority of the socket, and the
 * txtime in ns, big-endian; 12 bytes, by which the frame has to be shorter than the MTU allows.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

/* 0x88b6 as on the wire: local experimental EtherType 2, IEEE Std 802-2014 clause 9.2.4 */
#define TAG_TYPE 0xb688

static long (*const load)(const void *skb, __u32 from, void *to,
			  __u32 bytes) = (void *)BPF_FUNC_skb_load_bytes;
static long (*const store)(struct __sk_buff *skb, __u32 to, const void *from, __u32 bytes,
			   __u64 flags) = (void *)BPF_FUNC_skb_store_bytes;
static long (*const change_head)(struct __sk_buff *skb, __u32 bytes,
				 __u64 flags) = (void *)BPF_FUNC_skb_change_head;

struct head {
	__u8 addresses[12];
	__u16 type;
	__u8 kind;
	__u8 priority;
	__u32 txtime[2]; /* both halves by themselves: a frame's bytes are not aligned */
};

__attribute__((section("tag"), used)) int add_tag(struct __sk_buff *skb)
{
	struct head head = { .type = TAG_TYPE };
	__u64 txtime_ns = skb->tstamp;

	/* TCP has the time of its pacing there, by CLOCK_MONOTONIC. */
	if (!txtime_ns || skb->tstamp_type == BPF_SKB_TSTAMP_DELIVERY_MONO || skb->gso_size)
		return TC_ACT_UNSPEC;
	head.priority = skb->priority > 15 ? 15 : skb->priority;
	head.txtime[0] = __builtin_bswap32(txtime_ns >> 32);
	head.txtime[1] = __builtin_bswap32(txtime_ns);
	if (load(skb, 0, head.addresses, sizeof(head.addresses)) || change_head(skb, 12, 0) ||
	    store(skb, 0, &head, sizeof(head), 0))
		return TC_ACT_SHOT;
	return TC_ACT_UNSPEC;
}

char license_of_tag[] __attribute__((section("license"), used)) = "Dual BSD/GPL";
