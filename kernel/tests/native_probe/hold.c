// SPDX-License-Identifier: GPL-2.0-only
/* An owner that stays and does what a driver tells it: gives back, has lost, takes again. */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/rtnetlink.h>

#include "probe.h"

/**
 * struct holder - of the ring
 * @probe: what is done with it
 * @lock: the ring; within RTNL
 * @thread: polls it
 * @claimed: there is a ring
 * @lost: it is dead
 * @still_polls: so many polls in a row the index has not moved
 * @still_polls_max: the most there were
 */
static struct holder {
	struct probe *probe;
	struct mutex lock; /* the ring */
	struct task_struct *thread;
	bool claimed;
	bool lost;
	u32 still_polls;
	u32 still_polls_max;
} holder;

/* RTNL and the lock are held. */
static void give_back(struct holder *h)
{
	struct probe *p = h->probe;

	if (!h->claimed)
		return;
	p->native.ops->halt(p->native.nic);
	p->driver->reset(p->dev, &p->native);
	p->driver->release(p->dev, &p->native);
	h->claimed = false;
}

static int take(struct holder *h)
{
	int err = probe_claim(h->probe);

	if (err)
		return err;
	probe_begin(h->probe);
	h->lost = false;
	h->claimed = true;
	return 0;
}

static void holder_stop(void *owner)
{
	struct holder *h = owner;

	mutex_lock(&h->lock);
	pr_info("native_probe: stop=%d\n", h->claimed);
	give_back(h);
	mutex_unlock(&h->lock);
}

static void holder_lost(void *owner)
{
	struct holder *h = owner;

	WRITE_ONCE(h->lost, true);
	pr_info("native_probe: lost=1\n");
}

static void holder_ready(void *owner)
{
	struct holder *h = owner;

	mutex_lock(&h->lock);
	pr_info("native_probe: ready=%d\n", h->claimed);
	if (!h->claimed)
		take(h);
	mutex_unlock(&h->lock);
}

static const struct keepon_native_owner owner_ops = {
	.stop = holder_stop,
	.lost = holder_lost,
	.ready = holder_ready,
};

/* Whether the ring can be served any more. */
static bool poll(struct holder *h)
{
	u64 before = h->probe->head;
	bool readable;

	if (!h->claimed)
		return true;
	readable = probe_serve(h->probe);
	h->still_polls = readable && h->probe->head == before ? h->still_polls + 1 : 0;
	h->still_polls_max = max(h->still_polls_max, h->still_polls);
	if (!readable)
		pr_info("native_probe: index_gone=1\n");
	return readable && !READ_ONCE(h->lost);
}

static int serve(void *data)
{
	struct holder *h = data;
	bool alive;

	while (!kthread_should_stop()) {
		mutex_lock(&h->lock);
		alive = poll(h);
		mutex_unlock(&h->lock);
		if (!alive) {
			rtnl_lock();
			mutex_lock(&h->lock);
			give_back(h);
			mutex_unlock(&h->lock);
			rtnl_unlock();
			pr_info("native_probe: given_back=1\n");
		}
		usleep_range(PROBE_POLL_US, PROBE_POLL_US + 1);
	}
	return 0;
}

/** hold_begin() - RTNL */
int hold_begin(struct probe *p)
{
	int err;

	holder.probe = p;
	mutex_init(&holder.lock);
	err = keepon_native_attach(p->dev, &owner_ops, &holder);
	if (err)
		return err;
	pr_info("native_probe: second_attach=%d\n",
		keepon_native_attach(p->dev, &owner_ops, &holder));
	err = take(&holder);
	if (!err) {
		holder.thread = kthread_run(serve, &holder, "native_probe");
		err = PTR_ERR_OR_ZERO(holder.thread);
		if (err)
			give_back(&holder);
	}
	if (err)
		keepon_native_detach(p->dev);
	return err;
}

/** hold_end() - without RTNL */
void hold_end(struct probe *p)
{
	kthread_stop(holder.thread);
	rtnl_lock();
	give_back(&holder);
	keepon_native_detach(p->dev);
	rtnl_unlock();
	pr_info("native_probe: frames=%u\n", p->frames);
	pr_info("native_probe: still_polls_max=%u\n", holder.still_polls_max);
}
