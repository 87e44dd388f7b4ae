// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which ports are joined, and when a wire carries: both ends open, equal rates, no flap. A frame is
 * cut if any of it met a link that was down. Placeholders are counted here for the far end, by what
 * left while the link was up.
 */
#include "rx_ring.h"

static DEFINE_SPINLOCK(link_lock);

static struct hwsim_port *peer_of(struct hwsim_port *port)
{
	return rcu_dereference_protected(port->peer, lockdep_is_held(&link_lock));
}

static u64 placeholders_at(struct hwsim_port *port, u64 true_ps)
{
	return port->ops->placeholders ?
		       port->ops->placeholders(port, hwsim_local_ps(port->tb, true_ps)) :
		       0;
}

static void count_placeholders(struct hwsim_port *port, u8 kind, u64 count)
{
	if (kind == KPN_PLACEHOLDER_BAD_FCS) {
		hwsim_count(port, HWSIM_rx_fcs_errors, count);
		hwsim_count(port, HWSIM_rx_placeholders, count);
	} else {
		hwsim_count(port, HWSIM_rx_control, count);
	}
}

/* What arrived at the peer so far goes into its counters. Port locked. */
static void settle(struct hwsim_port *port, struct hwsim_port *peer, u64 at_ps)
{
	u64 count = placeholders_at(port, at_ps);

	if (port->up && count > port->placeholders_base)
		count_placeholders(peer, port->placeholder_kind, count - port->placeholders_base);
	port->placeholders_base = count;
}

static void set_direction(struct hwsim_port *port, struct hwsim_port *peer, bool up, u64 at_ps)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&port->lock, flags);
	if (port->up != up) {
		settle(port, peer, at_ps);
		if (up) {
			hwsim_rx_skip(port, hwsim_local_ps(port->tb, at_ps));
			port->down_until_ps = at_ps;
		} else {
			hwsim_rx_collect(port, hwsim_local_ps(port->tb, at_ps));
			port->down_from_ps = at_ps;
			port->down_until_ps = HWSIM_NEVER_PS;
		}
		port->up = up;
	}
	hwsim_port_kick(port);
	raw_spin_unlock_irqrestore(&port->lock, flags);
	if (port->ops->carrier)
		port->ops->carrier(port, up);
}

static bool flapping(const struct hwsim_port *port, u64 at_ps)
{
	return port->flap_until_ps > at_ps;
}

static void refresh(struct hwsim_port *a, u64 at_ps)
{
	struct hwsim_port *b = peer_of(a);
	bool up;

	if (!b)
		return;
	up = a->open && b->open && !a->removed && !b->removed && a->rate_bps == b->rate_bps &&
	     !flapping(a, at_ps) && !flapping(b, at_ps);
	set_direction(a, b, up, at_ps);
	set_direction(b, a, up, at_ps);
}

/** hwsim_link_refresh() - open, closed or rate changed; any context, no port locked */
void hwsim_link_refresh(struct hwsim_port *port)
{
	unsigned long flags;

	spin_lock_irqsave(&link_lock, flags);
	refresh(port, hwsim_true_ps());
	spin_unlock_irqrestore(&link_lock, flags);
}

/** hwsim_link() - join two ports; -EBUSY if one is joined already or both are the same */
int hwsim_link(struct hwsim_port *a, struct hwsim_port *b, u64 propagation_ps)
{
	unsigned long flags;
	int err = -EBUSY;

	spin_lock_irqsave(&link_lock, flags);
	if (a != b && !peer_of(a) && !peer_of(b)) {
		a->propagation_ps = propagation_ps;
		b->propagation_ps = propagation_ps;
		a->flight_ps = propagation_ps + b->rx_latency_ps;
		b->flight_ps = propagation_ps + a->rx_latency_ps;
		rcu_assign_pointer(a->peer, b);
		rcu_assign_pointer(b->peer, a);
		refresh(a, hwsim_true_ps());
		err = 0;
	}
	spin_unlock_irqrestore(&link_lock, flags);
	return err;
}

/*
 * hwsim_unlink() - take the wire away; frames on it are cut. The peer may be freed after
 * synchronize_rcu()
 */
void hwsim_unlink(struct hwsim_port *port)
{
	u64 now_ps = hwsim_true_ps();
	struct hwsim_port *peer;
	unsigned long flags;

	spin_lock_irqsave(&link_lock, flags);
	peer = peer_of(port);
	if (peer) {
		set_direction(port, peer, false, now_ps);
		set_direction(peer, port, false, now_ps);
		hwsim_rx_unplug(port);
		hwsim_rx_unplug(peer);
		RCU_INIT_POINTER(port->peer, NULL);
		RCU_INIT_POINTER(peer->peer, NULL);
	}
	spin_unlock_irqrestore(&link_lock, flags);
}

/** hwsim_link_flap() - no carrier at both ends for @duration_ps from now on; any context */
void hwsim_link_flap(struct hwsim_port *port, u64 duration_ps)
{
	u64 now_ps = hwsim_true_ps();
	unsigned long port_flags;
	unsigned long flags;

	spin_lock_irqsave(&link_lock, flags);
	raw_spin_lock_irqsave(&port->lock, port_flags);
	port->flap_until_ps = max(port->flap_until_ps, now_ps + duration_ps);
	hwsim_port_kick(port);
	raw_spin_unlock_irqrestore(&port->lock, port_flags);
	refresh(port, now_ps);
	spin_unlock_irqrestore(&link_lock, flags);
}

/** hwsim_link_flap_over() - the timer of a flapping port has come */
void hwsim_link_flap_over(struct hwsim_port *port)
{
	unsigned long port_flags;
	unsigned long flags;
	u64 at_ps;

	spin_lock_irqsave(&link_lock, flags);
	raw_spin_lock_irqsave(&port->lock, port_flags);
	at_ps = port->flap_until_ps;
	if (at_ps <= hwsim_true_ps())
		port->flap_until_ps = 0;
	raw_spin_unlock_irqrestore(&port->lock, port_flags);
	if (at_ps)
		refresh(port, at_ps);
	spin_unlock_irqrestore(&link_lock, flags);
}

/** hwsim_link_settle() - before the kind of placeholders changes */
void hwsim_link_settle(struct hwsim_port *port)
{
	struct hwsim_port *peer;
	unsigned long port_flags;
	unsigned long flags;

	spin_lock_irqsave(&link_lock, flags);
	peer = peer_of(port);
	raw_spin_lock_irqsave(&port->lock, port_flags);
	if (peer)
		settle(port, peer, hwsim_true_ps());
	raw_spin_unlock_irqrestore(&port->lock, port_flags);
	spin_unlock_irqrestore(&link_lock, flags);
}

/*
 * hwsim_link_placeholders() - of kind @kind that arrived at @port and are not in its counters yet;
 * any context
 */
u64 hwsim_link_placeholders(struct hwsim_port *port, u8 *kind)
{
	struct hwsim_port *peer;
	unsigned long flags;
	u64 count = 0;

	*kind = KPN_PLACEHOLDER_BAD_FCS;
	rcu_read_lock();
	peer = rcu_dereference(port->peer);
	if (peer) {
		raw_spin_lock_irqsave(&peer->lock, flags);
		*kind = peer->placeholder_kind;
		if (peer->up)
			count = placeholders_at(peer, hwsim_true_ps() - peer->propagation_ps);
		count = count > peer->placeholders_base ? count - peer->placeholders_base : 0;
		raw_spin_unlock_irqrestore(&peer->lock, flags);
	}
	rcu_read_unlock();
	return count;
}
