// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts instructions by the counter of the CPU's cycles, which under `-icount shift=0` advances by
 * one with each: the time stamp counter, or that of the PMU. Started by a write:
 *
 *	echo "xmit DEVICE BYTES COUNT AHEAD_NS" > /sys/module/keepon_meter/parameters/run
 *		COUNT times ndo_start_xmit of a frame of BYTES (without FCS), from call to return,
 *		interrupts off and the transmit lock held; making the frame and taking that lock are
 *		not counted. AHEAD_NS: its txtime from now on, 0: none
 *	echo "gaps COUNT" > ...
 *		a loop that does nothing but read the counter: what COUNT interrupts have taken away
 *		from it, entry and exit included
 *
 * Results are lines of the kernel log, `keepon_meter: WHAT name=value ...`, in instructions: of
 * all, and without those of keepon_plain's operations.
 */
#ifdef CONFIG_ARM64
#include <asm/sysreg.h>
#else
#include <asm/msr.h>
#endif
#include <linux/bits.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/sort.h>
#include <linux/vmalloc.h>
#include <net/sock.h>

enum {
	COUNT_MAX = 65536,
	CALIBRATION_CALLS = 64,
	BYTES_MIN = 14,
	BYTES_MAX = 1500,
	PAUSE_US = 200,
	TRIES_MAX = 50,
};

/*
 * struct samples - instructions of each: all, and without the backend's; elapsed: from the first to
 * the last, of gaps
 */
struct samples {
	u32 count;
	u32 failures;
	u64 elapsed;
	u64 *all;
	u64 *own;
};

extern u64 keepon_plain_spent;
static const u64 nothing_spent;
static u64 const *spent = &nothing_spent;

#ifdef CONFIG_ARM64
enum { PMU_ON = BIT(0), PMU_64_BIT = BIT(6) };

/* Every level of privilege counts; nobody else uses the counter here. */
static void start_counter(void)
{
	write_sysreg(0, pmccfiltr_el0);
	write_sysreg(BIT(31), pmcntenset_el0);
	write_sysreg(PMU_ON | PMU_64_BIT, pmcr_el0);
}

static __always_inline u64 counter(void)
{
	return read_sysreg(pmccntr_el0);
}
#else
static void start_counter(void)
{
}

static __always_inline u64 counter(void)
{
	return rdtsc();
}
#endif

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a;
	u64 y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void add_sample(struct samples *samples, u64 all, u64 backend)
{
	samples->all[samples->count] = all;
	samples->own[samples->count] = all - backend;
	samples->count++;
}

static u64 sum_of(const u64 *values, u32 count)
{
	u64 sum = 0;

	while (count--)
		sum += values[count];
	return sum;
}

static void say(const char *what, struct samples *samples)
{
	u32 last = samples->count - 1;

	sort(samples->all, samples->count, sizeof(u64), compare, NULL);
	sort(samples->own, samples->count, sizeof(u64), compare, NULL);
	pr_info("keepon_meter: %.*s count=%u failures=%u all_min=%llu all_median=%llu all_max=%llu own_min=%llu own_median=%llu own_max=%llu all_sum=%llu own_sum=%llu elapsed=%llu\n",
		(int)strcspn(what, "\n"), what, samples->count, samples->failures, samples->all[0],
		samples->all[last / 2], samples->all[last], samples->own[0], samples->own[last / 2],
		samples->own[last], sum_of(samples->all, samples->count),
		sum_of(samples->own, samples->count), samples->elapsed);
}

static noinline netdev_tx_t nothing_xmit(struct sk_buff *skb, struct net_device *dev)
{
	barrier();
	return NETDEV_TX_OK;
}

static netdev_tx_t timed(netdev_tx_t (*xmit)(struct sk_buff *, struct net_device *),
			 struct sk_buff *skb, struct net_device *dev, u64 *took)
{
	u64 begin = counter();
	netdev_tx_t result = xmit(skb, dev);

	*took = counter() - begin;
	return result;
}

/* Of a call that does nothing, the return apart: what timed() itself takes. */
static u64 empty_call(void)
{
	u64 least = U64_MAX;
	u64 took;
	u32 i;

	for (i = 0; i < CALIBRATION_CALLS; i++) {
		timed(nothing_xmit, NULL, NULL, &took);
		least = min(least, took);
	}
	return least;
}

static struct sk_buff *make_frame(struct net_device *dev, struct sock *sk, u32 bytes, u32 ahead_ns)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + BYTES_MAX, GFP_KERNEL);

	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD);
	skb_reset_mac_header(skb);
	memset(skb_put(skb, bytes), 0xff, bytes);
	skb->protocol = htons(ETH_P_TSN);
	skb->dev = dev;
	skb_set_owner_w(skb, sk);
	if (ahead_ns)
		skb->tstamp = ktime_get_clocktai_ns() + ahead_ns;
	return skb;
}

/* Return: false if the queue is stopped or the frame was refused; it is the caller's then. */
static bool send_one(struct net_device *dev, struct sk_buff *skb, u64 empty,
		     struct samples *samples)
{
	struct netdev_queue *queue = netdev_get_tx_queue(dev, 0);
	netdev_tx_t result = NETDEV_TX_BUSY;
	unsigned long flags;
	u64 before;
	u64 took;

	__netif_tx_lock_bh(queue);
	if (!netif_xmit_frozen_or_stopped(queue)) {
		local_irq_save(flags);
		before = *spent;
		result = timed(dev->netdev_ops->ndo_start_xmit, skb, dev, &took);
		before = *spent - before;
		local_irq_restore(flags);
	}
	__netif_tx_unlock_bh(queue);
	if (result != NETDEV_TX_OK)
		return false;
	add_sample(samples, took - empty, before);
	return true;
}

/* As a stack does: while the byte queue limit has the queue stopped, the frame waits. */
static void send(struct net_device *dev, struct sk_buff *skb, u64 empty, struct samples *samples)
{
	u32 tries;

	for (tries = 0; tries < TRIES_MAX; tries++) {
		bool sent = send_one(dev, skb, empty, samples);

		usleep_range(PAUSE_US, PAUSE_US);
		if (sent)
			return;
	}
	kfree_skb(skb);
	samples->failures++;
}

static int measure_xmit(struct net_device *dev, u32 bytes, u32 count, u32 ahead_ns,
			struct samples *samples)
{
	u64 empty = empty_call();
	struct socket *socket;
	u32 i;
	int error = sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &socket);

	if (error)
		return error;
	if (ahead_ns) {
		socket->sk->sk_clockid = CLOCK_TAI;
		sock_set_flag(socket->sk, SOCK_TXTIME);
	}
	for (i = 0; i < count && !error; i++) {
		struct sk_buff *skb = make_frame(dev, socket->sk, bytes, ahead_ns);

		if (skb)
			send(dev, skb, empty, samples);
		else
			error = -ENOMEM;
	}
	sock_release(socket);
	return error;
}

/* What takes no interrupt takes always the same: the least there is. */
static void measure_gaps(u32 count, struct samples *samples)
{
	u64 least = U64_MAX;
	u64 last;
	u64 last_spent;
	u64 begin;
	u32 i;

	preempt_disable();
	last = counter();
	for (i = 0; i < CALIBRATION_CALLS; i++) {
		u64 now = counter();

		least = min(least, now - last);
		last = now;
	}
	least *= 4;
	last = counter();
	begin = last;
	last_spent = *spent;
	while (samples->count < count) {
		u64 now = counter();
		u64 now_spent = *spent;

		if (now - last > least) {
			add_sample(samples, now - last, now_spent - last_spent);
			now = counter();
		}
		last_spent = now_spent;
		last = now;
		barrier();
	}
	samples->elapsed = last - begin;
	preempt_enable();
}

static int measure(const char *text, struct samples *samples)
{
	char name[IFNAMSIZ];
	struct net_device *dev;
	u32 ahead_ns;
	u32 count;
	u32 bytes;
	int error;

	if (sscanf(text, "gaps %u", &count) == 1 && count && count <= COUNT_MAX) {
		measure_gaps(count, samples);
		return 0;
	}
	if (sscanf(text, "xmit %15s %u %u %u", name, &bytes, &count, &ahead_ns) != 4 ||
	    bytes < BYTES_MIN || bytes > BYTES_MAX || !count || count > COUNT_MAX)
		return -EINVAL;
	dev = dev_get_by_name(&init_net, name);
	if (!dev)
		return -ENODEV;
	error = netif_running(dev) ? measure_xmit(dev, bytes, count, ahead_ns, samples) : -ENETDOWN;
	dev_put(dev);
	return error;
}

static int run_set(const char *text, const struct kernel_param *param)
{
	struct samples samples = { .all = vzalloc(COUNT_MAX * sizeof(u64)),
				   .own = vzalloc(COUNT_MAX * sizeof(u64)) };
	int error = -ENOMEM;

	if (samples.all && samples.own)
		error = measure(text, &samples);
	if (!error && !samples.count)
		error = -EBUSY;
	if (!error)
		say(text, &samples);
	vfree(samples.all);
	vfree(samples.own);
	return error;
}

static const struct kernel_param_ops run_ops = { .set = run_set };
module_param_cb(run, &run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "what to measure, see the head of the source");

static int __init meter_init(void)
{
	const u64 *found = symbol_get(keepon_plain_spent);

	start_counter();
	if (found)
		spent = found;
	return 0;
}

static void __exit meter_exit(void)
{
	if (spent != &nothing_spent)
		symbol_put(keepon_plain_spent);
}

module_init(meter_init);
module_exit(meter_exit);

MODULE_DESCRIPTION("Keepon benchmark: instructions of transmit calls and of interrupts");
MODULE_LICENSE("GPL");
