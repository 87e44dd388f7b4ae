// SPDX-License-Identifier: GPL-2.0-only
/* The counters of a port: one list for ethtool and debugfs. */
#include <linux/seq_file.h>

#include "ring.h"
#include "rx_ring.h"

const char *const hwsim_counter_name[HWSIM_COUNTER_COUNT] = {
#define HWSIM_COUNTER_NAME(name) [HWSIM_##name] = #name,
	HWSIM_COUNTERS(HWSIM_COUNTER_NAME)
#undef HWSIM_COUNTER_NAME
};

/** hwsim_stats_read() - @values: HWSIM_COUNTER_COUNT; any context */
void hwsim_stats_read(struct hwsim_port *port, u64 *values)
{
	unsigned long flags;
	u64 placeholders;
	u64 local_ps;
	u8 kind;
	u32 i;

	placeholders = hwsim_link_placeholders(port, &kind);
	for (i = 0; i < HWSIM_COUNTER_COUNT; i++)
		values[i] = atomic64_read(&port->counter[i]);
	if (kind == KPN_PLACEHOLDER_BAD_FCS) {
		values[HWSIM_rx_fcs_errors] += placeholders;
		values[HWSIM_rx_placeholders] += placeholders;
	} else {
		values[HWSIM_rx_control] += placeholders;
	}
	values[HWSIM_rx_missed] = hwsim_rx_missed(port);
	if (!port->ops->placeholders)
		return;
	raw_spin_lock_irqsave(&port->lock, flags);
	local_ps = hwsim_local_now_ps(port->tb);
	values[HWSIM_tx_placeholders] = port->ops->placeholders(port, local_ps);
	hwsim_ring_counters(hwsim_nic_of(port), values);
	raw_spin_unlock_irqrestore(&port->lock, flags);
}

/** hwsim_stats_show() - a line "NAME VALUE" per counter */
void hwsim_stats_show(struct seq_file *file, struct hwsim_port *port)
{
	u64 values[HWSIM_COUNTER_COUNT];
	u32 i;

	hwsim_stats_read(port, values);
	for (i = 0; i < HWSIM_COUNTER_COUNT; i++)
		seq_printf(file, "%s %llu\n", hwsim_counter_name[i], values[i]);
}
