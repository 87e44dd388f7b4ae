#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Software taprio lets nothing pass any more once the device was without carrier, until the schedule is given again.
#
# A taprio qdisc without offload (clockid CLOCK_TAI, no flags) opens and closes gates by a timer of the CPU. When the carrier goes,
# Linux deactivates the device's qdiscs, and taprio's reset cancels that timer; when it comes back, nothing starts it again. `tc qdisc
# show` lists the schedule as before, but the gates stay as they were at that instant: a class whose gate was shut is cut off for
# good. One would expect the schedule to go on (offloaded ones do), or all gates to be open.
#
# Here class 0 is open for a tenth of each second. The far end of a veth pair goes down for a second and comes up again.
# Seen with Linux 6.1.192 and 6.12.117, iproute2 6.1.0:
#   before: 5 of 5 echoes; after the flap: 0 of 5; after the same `tc qdisc replace` again: 5 of 5
#
# Needs apt of Debian 12 and qemu-system-x86. Exit code 0 while it is so.
set -eu

kernel=linux-image-6.1.0-56-cloud-amd64=6.1.192-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

qemu-system-x86_64 --version | head -1
apt-get -q download "$kernel" busybox-static=1:1.35.0-4+deb12u1+b1 iproute2=6.1.0-3 2>/dev/null >/dev/null
for package in *.deb; do
	echo "package $package"
	dpkg-deb -x "$package" root
done
mkdir -p guest/bin guest/dev guest/proc guest/sys guest/m guest/real
cp root/bin/busybox guest/bin/
cp root/bin/ip root/sbin/tc guest/real/
ldd root/bin/ip root/sbin/tc | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r library; do
	mkdir -p "guest$(dirname "$library")"
	cp -L "$library" "guest$library"
done
for module in veth sch_mqprio_lib sch_taprio; do
	find root -name "$module.ko*" -exec cp {} guest/m/ \;
done
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /m/*; do insmod "$module"; done
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
unshare -n sleep 100000 &
far="nsenter -t $! -n"
sleep 1
/real/ip link add d0 numtxqueues 2 type veth peer name d1
/real/ip link set d1 netns $!
/real/ip addr add 10.0.0.1/24 dev d0
/real/ip link set d0 up
$far /real/ip addr add 10.0.0.2/24 dev d1
$far /real/ip link set d1 up
/real/ip neigh add 10.0.0.2 lladdr "$($far /real/ip -o link show d1 | sed 's|.*link/ether \([^ ]*\).*|\1|')" nud permanent dev d0
schedule() {
	/real/tc qdisc replace dev d0 root handle 100: taprio num_tc 2 map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 1@1 \
		base-time 0 sched-entry S 02 900000000 sched-entry S 01 100000000 clockid CLOCK_TAI
}
echoes() { echo "result $1: $(ping -c 5 -W 3 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p') of 5"; }
schedule
sleep 2
echoes before
$far /real/ip link set d1 down
sleep 1
$far /real/ip link set d1 up
sleep 1
echoes after
schedule
sleep 2
echoes again
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | ../root/bin/busybox cpio -o -H newc 2>/dev/null) >initrd
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$(echo root/boot/vmlinuz-*)" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null | tr -d '\r' >log
sed -n 's/^result //p' log
grep -q '^result before: 5 of 5' log && grep -q '^result after: 0 of 5' log && grep -q '^result again: 5 of 5' log
