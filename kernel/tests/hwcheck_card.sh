# SPDX-License-Identifier: GPL-2.0-only
# keepon hwcheck on a card whose model paces the wire, lent by keepon_intel. OURS, THEIRS: PCI
# addresses; STOCK: the far end's driver; PREFETCH, INDEX_DONE: parameters of ours; CODE: the exit code
# that is right.
. /lib/keepon/test.sh

export PYTHONPATH=/lib/keepon/python
is_up() {
	ip link show "$1" | grep -q 'state UP'
}

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
modprobe keepon_intel prefetch="$PREFETCH" index_done="$INDEX_DONE"
modprobe keepon_hwcheck
echo keepon_intel > "/sys/bus/pci/devices/$OURS/driver_override"
echo "$OURS" > /sys/bus/pci/drivers_probe
modprobe "$STOCK"
card=$(ls "/sys/bus/pci/devices/$OURS/net")
peer=$(ls "/sys/bus/pci/devices/$THEIRS/net")
ip link set "$peer" up
ip link set "$card" up
run "carrier" wait_until 10 is_up "$card"
run "at the far end" wait_until 10 is_up "$peer"
sleep 2
"$PYTHON" -S -m keepon_host hwcheck "$card" --peer "$peer" --out /out/document.json \
	> /out/table.txt
is $? "$CODE" "safe to use, or not"
run "the card is an ordinary one again" is_up "$card"
done_testing
