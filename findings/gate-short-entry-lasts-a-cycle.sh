#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A gate of tc in software with an entry shorter than its timer is late is open and shut for whole cycles in turn.
#
# act_gate starts an entry in gate_timer_func(), by a timer of the CPU. If the entry is over by then, the timer is set to the next
# start of a cycle (base + (n + 1) * cycle), the gate keeps the state of the missed entry until then, and the entry after it begins a
# cycle late. With two entries, one of them short, each of both lasts a cycle, and none is as the schedule says. tc takes the schedule
# and shows it. One would expect a missed entry to be left out, or a refusal without offload. Windows of less than some us are what plans
# have: at 1 Gb/s a stream's frame arrives within some ns.
#
# Here a gate is open for 21 ns a second, and 10 echoes are sent one a second: one would expect that none passes.
# Seen with Linux 6.1.192, iproute2 6.1.0; the same in Linux 6.12.117:
#   21 ns of 1 s open: 5 of 10 echoes
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
number=0
for module in veth sch_ingress cls_flower act_gate; do
	number=$((number + 1))
	find root -name "$module.ko*" -exec cp {} guest/m/$number.ko \;
done
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in 1 2 3 4; do insmod /m/$module.ko; done
unshare -n sleep 100000 &
far="nsenter -t $! -n"
sleep 1
/real/ip link add d0 address 02:00:00:00:00:01 type veth peer name d1 address 02:00:00:00:00:02 netns $!
/real/ip addr add 10.0.0.1/24 dev d0
/real/ip link set d0 up
$far /real/ip addr add 10.0.0.2/24 dev d1
$far /real/ip link set d1 up
/real/ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev d0
$far /real/ip neigh add 10.0.0.1 lladdr 02:00:00:00:00:01 dev d1
$far /real/tc qdisc add dev d1 clsact
$far /real/tc filter add dev d1 ingress protocol ip flower action gate base-time 0 \
	sched-entry open 21 -1 -1 sched-entry close 999999979 -1 -1
sleep 2.5
echo "result 21 ns of 1 s open: $(ping -c 10 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p') of 10 echoes"
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | ../root/bin/busybox cpio -o -H newc 2>/dev/null) >initrd
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$(echo root/boot/vmlinuz-*)" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null | tr -d '\r' >log
sed -n 's/^result //p' log
grep -q '^result 21 ns of 1 s open: 5 of 10' log
