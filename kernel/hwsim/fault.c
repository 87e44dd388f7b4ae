// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults on demand: NIC/fault in debugfs, one command per line (docs/hwsim.md). Each is counted
 * where it shows.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>

#include "control.h"
#include "flow.h"
#include "ring.h"

static int stall(struct hwsim_nic *nic, s64 ns)
{
	if (nic->claimed) {
		pr_err(HWSIM_NAME
		       ": fault: the ring of %s is lent, and its poller is what stalls\n",
		       nic->node.name);
		return -EBUSY;
	}
	hwsim_flow_hold(nic, ns);
	hwsim_count(&nic->port, HWSIM_fault_stalls, 1);
	return 0;
}

static int pause_wire(struct hwsim_nic *nic, s64 ns)
{
	int err = 0;

	if (nic->claimed) {
		err = hwsim_ring_pause(nic, ns * 1000ull);
		if (err == -ENOSPC)
			pr_err(HWSIM_NAME
			       ": fault: %s took %d pauses since its ring was reset; no more fit\n",
			       nic->node.name, HWSIM_PAUSES_MAX);
		else if (err)
			pr_err(HWSIM_NAME ": fault: the ring of %s does not run yet\n",
			       nic->node.name);
	} else {
		hwsim_flow_hold(nic, ns);
		hwsim_count(&nic->port, HWSIM_tx_paused_ns, ns);
	}
	if (!err)
		hwsim_count(&nic->port, HWSIM_fault_pauses, 1);
	return err;
}

static int deal_out(struct hwsim_nic *nic, u32 *next, s64 frames)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	*next = (u32)frames;
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	return 0;
}

static int lose(struct hwsim_nic *nic, s64 frames)
{
	return deal_out(nic, &nic->port.lose_next, frames);
}

static int corrupt(struct hwsim_nic *nic, s64 frames)
{
	return deal_out(nic, &nic->port.corrupt_next, frames);
}

/* Frames start by the old rate until now. */
static int drift(struct hwsim_nic *nic, s64 ppb)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	nic->port.ops->advance(&nic->port, hwsim_local_now_ps(nic->port.tb));
	hwsim_set_ppb(nic->port.tb, ppb);
	nic->port.armed_ps = HWSIM_NEVER_PS; /* the next thing happens at another moment now */
	hwsim_port_kick(&nic->port);
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	hwsim_count(&nic->port, HWSIM_fault_drifts, 1);
	return 0;
}

static int freeze(struct hwsim_nic *nic, s64 frozen)
{
	int err = hwsim_ring_freeze_index(nic, frozen);

	if (err)
		pr_err(HWSIM_NAME ": fault: the ring of %s does not run yet\n", nic->node.name);
	return err;
}

static int flap(struct hwsim_nic *nic, s64 ns)
{
	hwsim_count(&nic->port, HWSIM_fault_flaps, 1);
	hwsim_link_flap(&nic->port, ns * 1000ull);
	return 0;
}

static const struct {
	const char *name;
	const char *unit;
	s64 min;
	s64 max;
	int (*run)(struct hwsim_nic *nic, s64 value);
} faults[] = {
	{ "stall", "ns", 1, 10000000000ll, stall },
	{ "pause", "ns", 1, 10000000000ll, pause_wire },
	{ "loss", "frames", 0, U32_MAX, lose },
	{ "fcs", "frames", 0, U32_MAX, corrupt },
	{ "drift", "ppb", -HWSIM_PPB_MAX, HWSIM_PPB_MAX, drift },
	{ "flap", "ns", 1, 10000000000ll, flap },
	{ "freeze", "on", 0, 1, freeze },
};

static int run_fault(void *context, char *line)
{
	struct hwsim_words words;
	s64 value;
	u32 i;
	int err = hwsim_words_split(&words, "fault", line);

	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(faults) && words.count == 2 && !words.pairs; i++) {
		if (strcmp(words.word[0], faults[i].name))
			continue;
		err = hwsim_number(faults[i].name, faults[i].unit, words.word[1], faults[i].min,
				   faults[i].max, &value);
		return err ? err : faults[i].run(context, value);
	}
	pr_err(HWSIM_NAME
	       ": fault: a line is stall NS, pause NS, loss FRAMES, fcs FRAMES, drift PPB, flap NS or freeze 0 or 1\n");
	return -EINVAL;
}

static ssize_t fault_write(struct file *file, const char __user *from, size_t bytes,
			   loff_t *position)
{
	return hwsim_lines(from, bytes, run_fault, file->private_data);
}

const struct file_operations hwsim_fault_file = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = fault_write,
};
