// SPDX-License-Identifier: GPL-2.0-only
/* The control file: NICs, bridges and links come and go by one command per line (docs/hwsim.md). */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "hwsim.h"

static LIST_HEAD(nodes);
static u32 nic_count;

#define complain(where, format, ...) pr_err(HWSIM_NAME ": %s: " format "\n", where, ##__VA_ARGS__)

static struct hwsim_node *find_node(const char *name)
{
	struct hwsim_node *node;

	list_for_each_entry(node, &nodes, list)
	{
		if (!strcmp(node->name, name))
			return node;
	}
	return NULL;
}

static struct hwsim_nic *node_nic(struct hwsim_node *node)
{
	return container_of(node, struct hwsim_nic, node);
}

/* ---- files of a node ---- */

static int stats_show(struct seq_file *file, void *unused)
{
	struct hwsim_node *node = file->private;
	u32 i;

	if (node->dev) {
		hwsim_stats_show(file, &node_nic(node)->port);
		return 0;
	}
	for (i = 0; i < hwsim_bridge_ports(node->bridge); i++) {
		seq_printf(file, "port %u\n", i);
		hwsim_stats_show(file, hwsim_bridge_port(node->bridge, i));
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(stats);

static void add_files(struct hwsim_node *node)
{
	node->folder = debugfs_create_dir(node->name, hwsim_folder);
	debugfs_create_file("stats", 0444, node->folder, node, &stats_fops);
	if (node->dev) {
		debugfs_create_file("wire", 0444, node->folder, &node_nic(node)->port, &hwsim_record_file);
		debugfs_create_file("fault", 0200, node->folder, node_nic(node), &hwsim_fault_file);
	}
	list_add_tail(&node->list, &nodes);
}

static void delete_node(struct hwsim_node *node)
{
	list_del(&node->list);
	debugfs_remove_recursive(node->folder);
	if (node->dev) {
		hwsim_nic_destroy(node_nic(node));
	} else {
		hwsim_bridge_destroy(node->bridge);
		kfree(node);
	}
}

/* ---- commands ---- */

static int name_problem(const struct hwsim_words *words)
{
	if (words->count != 2 || !dev_valid_name(words->word[1]) || strchr(words->word[1], ':')) {
		complain(words->where, "needs one name of 1 to %d characters without / and :", IFNAMSIZ - 1);
		return -EINVAL;
	}
	if (find_node(words->word[1])) {
		complain(words->where, "%s is there already; delete it first or take another name", words->word[1]);
		return -EEXIST;
	}
	return 0;
}

static int rate_of(struct hwsim_words *words, u64 *rate_bps)
{
	s64 rate = 1000000000;
	int err = hwsim_words_number(words, "rate_bps", 10000000, 100000000000ll, &rate);

	if (!err && 8000000000000ull % rate) {
		complain(words->where, "rate_bps=%lld has no byte time of whole picoseconds; use a divisor of 8e12",
			 rate);
		return -EINVAL;
	}
	*rate_bps = rate;
	return err;
}

/* Oscillator and PHC: those of another NIC, or new ones. */
static int timebase_of(struct hwsim_words *words, const char *name, struct hwsim_timebase **tb)
{
	const char *phc = hwsim_words_text(words, "phc");
	struct hwsim_node *other = phc ? find_node(phc) : NULL;
	s64 ppb = 0;
	int err;

	if (phc && (!other || !other->dev || hwsim_words_text(words, "ppb"))) {
		complain(words->where, "phc=%s must name a NIC, whose oscillator it takes; leave ppb out", phc);
		return -EINVAL;
	}
	if (phc) {
		*tb = hwsim_timebase_get(node_nic(other)->port.tb);
		return 0;
	}
	err = hwsim_words_number(words, "ppb", -HWSIM_PPB_MAX, HWSIM_PPB_MAX, &ppb);
	if (err)
		return err;
	*tb = hwsim_timebase_create(ppb);
	if (!*tb)
		return -ENOMEM;
	err = name ? hwsim_phc_register(*tb, name) : 0;
	if (err)
		hwsim_timebase_put(*tb);
	return err;
}

static int take_u32(struct hwsim_words *words, const char *key, s64 min, s64 max, u32 *value)
{
	s64 number = *value;
	int err = hwsim_words_number(words, key, min, max, &number);

	*value = (u32)number;
	return err;
}

static int nic_params(struct hwsim_words *words, struct hwsim_nic_params *p)
{
	static const char *const modes[] = { "ring", "ordinary", "launchtime", NULL };
	static const char *const indices[] = { "done", "fetch", NULL };
	static const char *const policies[] = { "turns", "strict", NULL };
	u32 persistent = 1;
	u8 strict;
	s64 seed;

	*p = (struct hwsim_nic_params){
		.queues = 4,
		.tx_ring = 256,
		.prefetch = 4,
		.fetch_ns = 800,
		.restart_ns_min = 1000,
		.restart_ns_max = 2000,
		.rx_ring = 1024,
		.coalesce_us = 50,
		.coalesce_frames = 8,
	};
	seed = ++nic_count;
	if (hwsim_words_choice(words, "mode", modes, &p->mode) ||
	    hwsim_words_choice(words, "index", indices, &p->index_fetch) ||
	    take_u32(words, "queues", 1, HWSIM_QUEUES, &p->queues) ||
	    take_u32(words, "tx_ring", 2, 4096, &p->tx_ring) || take_u32(words, "prefetch", 0, 1024, &p->prefetch))
		return -EINVAL;
	p->claim_prefetch = p->prefetch;
	if (take_u32(words, "claim_prefetch", 0, 1024, &p->claim_prefetch) ||
	    take_u32(words, "fifo_bytes", 0, 1 << 24, &p->fifo_bytes) ||
	    take_u32(words, "fetch_ns", 1, 1000000, &p->fetch_ns) ||
	    hwsim_words_range(words, "restart_ns", 4000000, &p->restart_ns_min, &p->restart_ns_max) ||
	    hwsim_words_range(words, "index_lag_ns", 4000000, &p->index_lag_ns_min, &p->index_lag_ns_max) ||
	    take_u32(words, "index_read_ns", 0, 100000, &p->index_read_ns) ||
	    take_u32(words, "rx_ring", 0, 4096, &p->rx_ring) ||
	    hwsim_words_range(words, "rx_lag_ns", 900000, &p->rx_lag_ns_min, &p->rx_lag_ns_max) ||
	    take_u32(words, "persistent", 0, 1, &persistent) ||
	    take_u32(words, "coalesce_us", 0, 1000000, &p->coalesce_us) ||
	    take_u32(words, "coalesce_frames", 1, 4096, &p->coalesce_frames) ||
	    hwsim_words_number(words, "seed", 0, S64_MAX, &seed))
		return -EINVAL;
	strict = p->mode == HWSIM_MODE_LAUNCHTIME; /* queue 0 first, as the i210 does */
	if (hwsim_words_choice(words, "policy", policies, &strict))
		return -EINVAL;
	p->strict = strict;
	p->persistent = persistent;
	p->seed = seed;
	if (p->restart_ns_min < p->fetch_ns) {
		complain(words->where, "restart_ns=%u is shorter than fetch_ns=%u; a frame cannot start unfetched",
			 p->restart_ns_min, p->fetch_ns);
		return -EINVAL;
	}
	if (p->fifo_bytes && p->fifo_bytes < HWSIM_FRAME_BYTES_MAX) {
		complain(words->where, "fifo_bytes=%u holds no longest frame; use 0 (no limit) or at least %d",
			 p->fifo_bytes, HWSIM_FRAME_BYTES_MAX);
		return -EINVAL;
	}
	return 0;
}

/* From the seed: a locally administered address, different for every seed. */
static int address_of(struct hwsim_words *words, u64 seed, u8 *mac)
{
	const char *text = hwsim_words_text(words, "mac");
	u64 mixed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15ull;

	mac[0] = 0x02;
	mac[1] = 0x4b; /* "K" */
	mac[2] = (u8)(mixed >> 56);
	mac[3] = (u8)(mixed >> 48);
	mac[4] = (u8)(seed >> 8);
	mac[5] = (u8)seed;
	if (text && (!mac_pton(text, mac) || !is_valid_ether_addr(mac))) {
		complain(words->where, "mac=%s is no unicast address like 02:00:00:00:00:01", text);
		return -EINVAL;
	}
	return 0;
}

static int do_nic(struct hwsim_words *words)
{
	struct hwsim_nic_params params;
	struct hwsim_timebase *tb;
	struct hwsim_nic *nic;
	u8 mac[ETH_ALEN];
	u64 rate_bps;
	u32 rx_ns = 500;
	int err = name_problem(words);

	if (!err)
		err = nic_params(words, &params);
	if (!err)
		err = rate_of(words, &rate_bps);
	if (!err)
		err = take_u32(words, "rx_ns", 0, 1000000, &rx_ns);
	if (!err)
		err = address_of(words, params.seed, mac);
	hwsim_words_text(words, "ppb");
	hwsim_words_text(words, "phc");
	if (!err)
		err = hwsim_words_all_used(words);
	if (!err)
		err = timebase_of(words, words->word[1], &tb);
	if (err)
		return err;
	err = hwsim_nic_create(words->word[1], &params, rate_bps, rx_ns, tb, mac, &nic);
	if (err) {
		complain(words->where, "no interface %s (error %d); is the name taken?", words->word[1], err);
		return err;
	}
	add_files(&nic->node);
	return 0;
}

static int do_bridge(struct hwsim_words *words)
{
	struct hwsim_node *node;
	s64 processing_ns = 2000;
	u32 queue_frames = 256;
	u64 rate_bps;
	u32 ports = 2;
	s64 ppb = 0;
	int err = name_problem(words);

	if (!err)
		err = take_u32(words, "ports", 1, HWSIM_PORTS_MAX, &ports);
	if (!err)
		err = take_u32(words, "queue_frames", 1, 65536, &queue_frames);
	if (!err)
		err = hwsim_words_number(words, "processing_ns", 0, 1000000, &processing_ns);
	if (!err)
		err = hwsim_words_number(words, "ppb", -HWSIM_PPB_MAX, HWSIM_PPB_MAX, &ppb);
	if (!err)
		err = rate_of(words, &rate_bps);
	if (!err)
		err = hwsim_words_all_used(words);
	if (err)
		return err;
	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	strscpy(node->name, words->word[1], sizeof(node->name));
	err = hwsim_bridge_create(node->name, ports, processing_ns * 1000ull, rate_bps, ppb, queue_frames,
				  &node->bridge);
	if (err) {
		kfree(node);
		return err;
	}
	add_files(node);
	return 0;
}

/* NIC or BRIDGE:PORT. NULL after a message. */
static struct hwsim_port *find_port(struct hwsim_words *words, char *name)
{
	char *colon = strchr(name, ':');
	struct hwsim_node *node;
	s64 port = 0;

	if (colon)
		*colon = 0;
	node = find_node(name);
	if (!node) {
		complain(words->where, "there is no %s; create it first with nic or bridge", name);
		return NULL;
	}
	if (!!colon == !!node->dev) {
		complain(words->where, "%s is a %s; name it %s", name, node->dev ? "NIC" : "bridge",
			 node->dev ? "without a port" : "with a port, as in BRIDGE:0");
		return NULL;
	}
	if (node->dev)
		return &node_nic(node)->port;
	if (hwsim_number(words->where, "port", colon + 1, 0, hwsim_bridge_ports(node->bridge) - 1, &port))
		return NULL;
	return hwsim_bridge_port(node->bridge, (u32)port);
}

static int do_link(struct hwsim_words *words)
{
	s64 propagation_ns = 50;
	struct hwsim_port *a;
	struct hwsim_port *b;
	int err = hwsim_words_number(words, "propagation_ns", 0, 10000000, &propagation_ns);

	if (!err)
		err = hwsim_words_all_used(words);
	if (err)
		return err;
	if (words->count != 3) {
		complain(words->where, "needs two ends, each a NIC or BRIDGE:PORT");
		return -EINVAL;
	}
	a = find_port(words, words->word[1]);
	b = a ? find_port(words, words->word[2]) : NULL;
	if (!b)
		return -EINVAL;
	if (a->rate_bps != b->rate_bps) {
		complain(words->where, "%s has %llu bit/s and %s has %llu; give both the same rate_bps", a->name,
			 a->rate_bps, b->name, b->rate_bps);
		return -EINVAL;
	}
	err = hwsim_link(a, b, propagation_ns * 1000ull);
	if (err)
		complain(words->where, "%s or %s has a wire already, or both are one; unlink first", a->name, b->name);
	return err;
}

static int do_unlink(struct hwsim_words *words)
{
	struct hwsim_port *port;

	if (words->count != 2 || words->pairs) {
		complain(words->where, "needs one end, a NIC or BRIDGE:PORT");
		return -EINVAL;
	}
	port = find_port(words, words->word[1]);
	if (!port)
		return -EINVAL;
	hwsim_unlink(port);
	return 0;
}

static int do_delete(struct hwsim_words *words)
{
	struct hwsim_node *node = words->count == 2 && !words->pairs ? find_node(words->word[1]) : NULL;

	if (!node) {
		complain(words->where, "needs the name of a NIC or bridge that is there");
		return -EINVAL;
	}
	delete_node(node);
	return 0;
}

static int do_capture(struct hwsim_words *words)
{
	bool on = words->count == 3 && !strcmp(words->word[2], "on");
	struct hwsim_node *node = words->count == 3 ? find_node(words->word[1]) : NULL;
	const char *device = hwsim_words_text(words, "device");
	u32 records = 65536;
	int err = take_u32(words, "records", 16, 1 << 20, &records);

	if (!err)
		err = hwsim_words_all_used(words);
	if (err)
		return err;
	if (!node || !node->dev || (!on && strcmp(words->word[2], "off"))) {
		complain(words->where, "needs the name of a NIC and on or off");
		return -EINVAL;
	}
	if (!on) {
		hwsim_capture_stop(node_nic(node));
		return 0;
	}
	if (device && !dev_valid_name(device)) {
		complain(words->where, "device=%s is no name of 1 to %d characters without / and :", device,
			 IFNAMSIZ - 1);
		return -EINVAL;
	}
	err = hwsim_capture_start(node_nic(node), records, device);
	if (err && device)
		complain(words->where, "no interface %s (error %d); is the name taken?", device, err);
	return err;
}

static const struct {
	const char *name;
	int (*run)(struct hwsim_words *words);
} commands[] = {
	{ "nic", do_nic },       { "bridge", do_bridge },   { "link", do_link },
	{ "unlink", do_unlink }, { "capture", do_capture }, { "delete", do_delete },
};

static int run_command(void *unused, char *line)
{
	struct hwsim_words words;
	u32 i;
	int err = hwsim_words_split(&words, "control", line);

	if (err)
		return err;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (words.count && !strcmp(words.word[0], commands[i].name)) {
			words.where = commands[i].name;
			return commands[i].run(&words);
		}
	}
	complain(words.where, "%s is no command; use nic, bridge, link, unlink, capture or delete",
		 words.count ? words.word[0] : "a line without a word");
	return -EINVAL;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes, loff_t *position)
{
	ssize_t done;

	mutex_lock(&hwsim_mutex);
	done = hwsim_lines(from, bytes, run_command, NULL);
	mutex_unlock(&hwsim_mutex);
	return done;
}

static const struct file_operations control_file = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
};

struct dentry *hwsim_control_init(void)
{
	return debugfs_create_file("control", 0200, hwsim_folder, NULL, &control_file);
}

/** hwsim_control_fini() - the control file is gone; everything created goes */
void hwsim_control_fini(void)
{
	struct hwsim_node *node;
	struct hwsim_node *next;

	mutex_lock(&hwsim_mutex);
	list_for_each_entry_safe(node, next, &nodes, list) delete_node(node);
	mutex_unlock(&hwsim_mutex);
}
