// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may hold a wire back at an instant nobody planned, and how ethtool switches it off: PAUSE
 * frames of the other end (IEEE Std 802.3 annex 31B), and energy-efficient Ethernet (clause 78),
 * whose transmitter sleeps as soon as it is idle and takes a while to wake up.
 */
#include <linux/etherdevice.h>

#include "flow.h"
#include "ring.h"

enum {
	PAUSE_OPCODE = 1,
	PAUSE_AT = ETH_HLEN + 2, /* behind the opcode */
	QUANTUM_BYTES = 512 / 8,
};

void hwsim_flow_hold(struct hwsim_nic *nic, s64 ns)
{
	unsigned long flags;
	u64 local_ps;

	raw_spin_lock_irqsave(&nic->port.lock, flags);
	local_ps = hwsim_local_now_ps(nic->port.tb);
	nic->port.ops->advance(&nic->port, local_ps);
	hwsim_mac_hold(&nic->mac, local_ps, ns * 1000ull);
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
}

static u32 be16_at(const struct hwsim_frame *frame, u32 at)
{
	return (u32)frame->data[at] << 8 | frame->data[at + 1];
}

static bool is_pause(const struct hwsim_nic *nic, const struct hwsim_frame *frame)
{
	static const u8 mac_control[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };

	return frame->data_bytes >= PAUSE_AT + 2 && be16_at(frame, 2 * ETH_ALEN) == ETH_P_PAUSE &&
	       be16_at(frame, ETH_HLEN) == PAUSE_OPCODE &&
	       (!memcmp(frame->data, mac_control, ETH_ALEN) ||
		!memcmp(frame->data, nic->dev->dev_addr, ETH_ALEN));
}

bool hwsim_flow_takes(struct hwsim_nic *nic, const struct hwsim_frame *frame)
{
	u64 ps;
	s64 ns;

	if (!READ_ONCE(nic->params.flow_control) || !is_pause(nic, frame))
		return false;
	ps = (u64)be16_at(frame, PAUSE_AT) * QUANTUM_BYTES * nic->port.byte_ps;
	ns = (s64)div_u64(ps, 1000);
	if (!nic->claimed) {
		hwsim_flow_hold(nic, ns);
		hwsim_count(&nic->port, HWSIM_tx_paused_ns, ns);
	} else if (hwsim_ring_pause(nic, ps)) {
		return true; /* it does not run, or has taken as many as it can */
	}
	hwsim_count(&nic->port, HWSIM_rx_pauses, 1);
	return true;
}

/* It sends no PAUSE itself: its host is never too slow. */
void hwsim_get_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	pause->rx_pause = nic->params.flow_control;
}

/* It is one of the limits of the ring: who has that looks at them again. */
int hwsim_set_pauseparam(struct net_device *dev, struct ethtool_pauseparam *pause)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	if (pause->autoneg || pause->tx_pause)
		return -EOPNOTSUPP;
	keepon_native_stop(dev);
	if (nic->claimed)
		return -EBUSY;
	WRITE_ONCE(nic->params.flow_control, !!pause->rx_pause);
	keepon_native_ready(dev);
	return 0;
}

int hwsim_get_eee(struct net_device *dev, struct keepon_eee *eee)
{
	struct hwsim_nic *nic = netdev_priv(dev);

	if (!nic->params.eee_wake_ns)
		return -EOPNOTSUPP;
	keepon_eee_support(eee, nic->port.rate_bps == 100000000);
	eee->eee_enabled = nic->mac.wake_ps > 0;
	eee->eee_active = eee->eee_enabled;
	eee->tx_lpi_enabled = eee->eee_enabled;
	return 0;
}

int hwsim_set_eee(struct net_device *dev, struct keepon_eee *eee)
{
	struct hwsim_nic *nic = netdev_priv(dev);
	unsigned long flags;

	if (!nic->params.eee_wake_ns)
		return -EOPNOTSUPP;
	raw_spin_lock_irqsave(&nic->port.lock, flags);
	nic->port.ops->advance(&nic->port, hwsim_local_now_ps(nic->port.tb));
	nic->mac.wake_ps = eee->eee_enabled ? nic->params.eee_wake_ns * 1000ull : 0;
	nic->port.armed_ps = HWSIM_NEVER_PS; /* what waits starts at another moment now */
	hwsim_port_kick(&nic->port);
	raw_spin_unlock_irqrestore(&nic->port.lock, flags);
	return 0;
}
