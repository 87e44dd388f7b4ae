// SPDX-License-Identifier: GPL-2.0-only
/* The control file: NICs, bridges and links come and go by one command per line (docs/hwsim.md). */
#include <linux/debugfs.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "bridge.h"
#include "control.h"
#include "nic.h"
#include "record.h"

static DEFINE_MUTEX(hwsim_mutex);
struct dentry *hwsim_folder;
static LIST_HEAD(nodes);

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
		debugfs_create_file("wire", 0444, node->folder, &node_nic(node)->port,
				    &hwsim_record_file);
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
		complain(words->where,
			 "needs one name of 1 to %d characters without / and :", IFNAMSIZ - 1);
		return -EINVAL;
	}
	if (find_node(words->word[1])) {
		complain(words->where, "%s is there already; delete it first or take another name",
			 words->word[1]);
		return -EEXIST;
	}
	return 0;
}

/* Oscillator and PHC: those of another NIC, or new ones. */
static int timebase_of(struct hwsim_words *words, const char *name, struct hwsim_timebase **tb)
{
	const char *phc = hwsim_words_text(words, "phc");
	struct hwsim_node *other = phc ? find_node(phc) : NULL;
	s64 ppb = 0;
	int err;

	if (phc && (!other || !other->dev || hwsim_words_text(words, "ppb"))) {
		complain(words->where,
			 "phc=%s must name a NIC, whose oscillator it takes; leave ppb out", phc);
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

static int do_nic(struct hwsim_words *words)
{
	struct hwsim_nic_params params;
	struct hwsim_timebase *tb;
	struct hwsim_nic *nic;
	int err = name_problem(words);

	if (!err)
		err = hwsim_nic_options(words, &params);
	hwsim_words_text(words, "ppb");
	hwsim_words_text(words, "phc");
	if (!err)
		err = hwsim_words_all_used(words);
	if (!err)
		err = timebase_of(words, words->word[1], &tb);
	if (err)
		return err;
	err = hwsim_nic_create(words->word[1], &params, tb, &nic);
	if (err) {
		complain(words->where, "no interface %s (error %d); is the name taken?",
			 words->word[1], err);
		return err;
	}
	add_files(&nic->node);
	return 0;
}

static int do_bridge(struct hwsim_words *words)
{
	struct hwsim_node *node;
	s64 processing_ns = 2000;
	/* IEEE Std 802.1Q-2022 table 8-5 */
	const char *classes = hwsim_words_text(words, "classes") ?: "10234567";
	u32 queue_frames = 256;
	u64 rate_bps;
	u32 ports = 2;
	s64 ppb = 0;
	int err = name_problem(words);

	if (!err)
		err = hwsim_words_u32(words, "ports", 1, HWSIM_PORTS_MAX, &ports);
	if (!err)
		err = hwsim_words_u32(words, "queue_frames", 1, 65536, &queue_frames);
	if (!err)
		err = hwsim_words_number(words, "processing_ns", 0, 1000000, &processing_ns);
	if (!err)
		err = hwsim_words_number(words, "ppb", -HWSIM_PPB_MAX, HWSIM_PPB_MAX, &ppb);
	if (!err)
		err = hwsim_words_rate(words, &rate_bps);
	if (!err)
		err = hwsim_words_all_used(words);
	if (!err && (strlen(classes) != HWSIM_PRIORITIES ||
		     strspn(classes, "01234567") != HWSIM_PRIORITIES)) {
		complain(words->where, "classes=%s is not 8 digits of 0 to 7", classes);
		err = -EINVAL;
	}
	if (err)
		return err;
	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	strscpy(node->name, words->word[1], sizeof(node->name));
	err = hwsim_bridge_create(node->name, ports, processing_ns * 1000ull, rate_bps, ppb,
				  queue_frames, classes, &node->bridge);
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
	if (hwsim_number(words->where, "port", colon + 1, 0, hwsim_bridge_ports(node->bridge) - 1,
			 &port))
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
		complain(words->where,
			 "%s has %llu bit/s and %s has %llu; give both the same rate_bps", a->name,
			 a->rate_bps, b->name, b->rate_bps);
		return -EINVAL;
	}
	err = hwsim_link(a, b, propagation_ns * 1000ull);
	if (err)
		complain(words->where, "%s or %s has a wire already, or both are one; unlink first",
			 a->name, b->name);
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
	struct hwsim_node *node =
		words->count == 2 && !words->pairs ? find_node(words->word[1]) : NULL;

	if (!node) {
		complain(words->where, "needs the name of a NIC or bridge that is there");
		return -EINVAL;
	}
	delete_node(node);
	return 0;
}

static struct hwsim_nic *only_nic(struct hwsim_words *words)
{
	struct hwsim_node *node =
		words->count == 2 && !words->pairs ? find_node(words->word[1]) : NULL;

	if (node && node->dev)
		return node_nic(node);
	complain(words->where, "needs the name of a NIC that is there");
	return NULL;
}

static int do_remove(struct hwsim_words *words)
{
	struct hwsim_nic *nic = only_nic(words);

	if (!nic)
		return -EINVAL;
	if (nic->port.removed) {
		complain(words->where, "%s was removed already; insert it or delete it",
			 nic->node.name);
		return -EINVAL;
	}
	hwsim_nic_remove(nic);
	return 0;
}

static int do_insert(struct hwsim_words *words)
{
	struct hwsim_nic *nic = only_nic(words);
	int err;

	if (!nic)
		return -EINVAL;
	if (!nic->port.removed) {
		complain(words->where, "%s is in its socket; remove it first", nic->node.name);
		return -EINVAL;
	}
	err = hwsim_nic_insert(nic);
	if (err)
		complain(words->where,
			 "the owner of a ring of %s has not given it back yet; try again",
			 nic->node.name);
	return err;
}

static int do_capture(struct hwsim_words *words)
{
	bool on = words->count == 3 && !strcmp(words->word[2], "on");
	struct hwsim_node *node = words->count == 3 ? find_node(words->word[1]) : NULL;
	const char *device = hwsim_words_text(words, "device");
	u32 records = 65536;
	int err = hwsim_words_u32(words, "records", 16, 1 << 20, &records);

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
		complain(words->where,
			 "device=%s is no name of 1 to %d characters without / and :", device,
			 IFNAMSIZ - 1);
		return -EINVAL;
	}
	err = hwsim_capture_start(node_nic(node), records, device);
	if (err && device)
		complain(words->where, "no interface %s (error %d); is the name taken?", device,
			 err);
	return err;
}

static const struct {
	const char *name;
	int (*run)(struct hwsim_words *words);
} commands[] = {
	{ "nic", do_nic },       { "bridge", do_bridge },   { "link", do_link },
	{ "unlink", do_unlink }, { "capture", do_capture }, { "delete", do_delete },
	{ "remove", do_remove }, { "insert", do_insert },
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
	complain(
		words.where,
		"%s is no command; use nic, bridge, link, unlink, remove, insert, capture or delete",
		words.count ? words.word[0] : "a line without a word");
	return -EINVAL;
}

static ssize_t control_write(struct file *file, const char __user *from, size_t bytes,
			     loff_t *position)
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
