# SPDX-License-Identifier: GPL-2.0-only
# `keepon bind` and `keepon unbind` of the Ethernet controller of an emulated Raspberry Pi 4, a card
# of the platform bus. At the far end is QEMU's user network, which answers echoes at 10.0.2.2.
. /lib/keepon/test.sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python PYTHONDONTWRITEBYTECODE=1

PEER=10.0.2.2
device=fd580000.ethernet
folder=/sys/bus/platform/devices/$device

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

keepon() {
	python3 -S -m keepon_host "$@"
}

driver() {
	ethtool -i eth0 2>&1 | sed -n 's/^driver: //p'
}

# what has to come along
same() {
	is "$(cat /sys/class/net/eth0/mtu)" 1400 "$1: MTU"
	like "$(ip addr show dev eth0)" "inet 10.0.2.15/24" "$1: address"
	like "$(ip route show)" "default via $PEER dev eth0 metric 7" "$1: route"
	is "$(ping -q -c 3 -i 0.01 -W 1 $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
		3 "$1: echoes"
}

modprobe mdio_bcm_unimac
modprobe genet
run "the kernel's driver has it" wait_until 5 test -d "$folder/net/eth0"
ip link set dev eth0 mtu 1400
ip link set dev eth0 up
ip addr add 10.0.2.15/24 dev eth0
ip route add default via $PEER dev eth0 metric 7
wait_until 10 ping -q -c 1 -W 1 $PEER > /dev/null
same "before"

like "$(keepon bind eth0 2>&1)" "eth0: bcmgenet -> keepon_genet" "bound"
is "$(driver)" keepon_genet "its driver is ours"
same "bound"
like "$(keepon bind eth0)" "with keepon_genet already" "bound again"
like "$(SSH_CONNECTION="$PEER 50000 10.0.2.15 22" keepon unbind eth0 2>&1)" \
	"eth0: keepon_genet -> bcmgenet" "given back"
is "$(driver)" bcmgenet "its driver is the kernel's"
is "$(cat "$folder/driver_override")" "(null)" "nothing is left that would bind it otherwise"
same "given back"
done_testing
