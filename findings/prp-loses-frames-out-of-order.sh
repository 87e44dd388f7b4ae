#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# PRP of Linux 6.12 loses frames of the slower LAN when the faster one comes back.
#
# A node of PRP (IEC 62439-3, `ip link add type hsr ... proto 1`) sends each frame by two LANs, so that one that fails costs nothing.
# Linux 6.12 keeps no list of the numbers that came but a window of them (prp_register_frame_out()), and takes any within it for a
# copy. When LAN A is back after a failure, its first frames overtake those that are still on their way on LAN B, which are dropped then,
# although they never came. One would expect each frame once: IEC 62439-3:2021 4.1.10.3 has an algorithm that never rejects a
# legitimate frame. Linux since 7.0 keeps the numbers that it has seen, and 7.3.4 loses none of them.
#
# Here LAN B is 100 ms later than LAN A, an echo is asked for each 20 ms, and LAN A is away for a second.
# Seen with Linux 6.12.117, iproute2 6.1.0:
#   both LANs: 100 of 100; LAN A comes back: 96 of 100
#
# Needs apt of Debian 12, xz and qemu-system-x86. Exit code 0 while it is so.
set -eu

kernel=linux-image-6.12.117+deb12-amd64=6.12.117-1~deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

qemu-system-x86_64 --version | head -1
apt-get -q download "$kernel" busybox-static=1:1.35.0-4+deb12u1+b1 iproute2=6.1.0-3 2>/dev/null >/dev/null
for package in *.deb; do
	echo "package $package"
	dpkg-deb -x "$package" packages
done
mkdir -p guest/bin guest/dev guest/proc guest/sys guest/m guest/real
cp packages/bin/busybox guest/bin/
cp packages/bin/ip packages/sbin/tc guest/real/
ldd packages/bin/ip packages/sbin/tc | grep -o '/[^ ]*\.so[^ ]*' | sort -u | while read -r library; do
	mkdir -p "guest$(dirname "$library")"
	cp -L "$library" "guest$library"
done
for module in veth sch_netem hsr; do
	xz -d <"$(find packages -name "$module.ko.xz")" >"guest/m/$module.ko"
done
cat >guest/init <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
for module in /m/*; do insmod "$module"; done
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
unshare -n sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6; exec sleep 100000' &
far="nsenter -t $! -n"
sleep 1
for lan in a b; do
	/real/ip link add lan$lan type veth peer name lan$lan netns $!
	/real/ip link set lan$lan up
	$far /real/ip link set lan$lan up
done
/real/tc qdisc add dev lanb root netem delay 100ms
/real/ip link add prp0 type hsr slave1 lana slave2 lanb proto 1
$far /real/ip link add prp0 type hsr slave1 lana slave2 lanb proto 1
/real/ip addr add 10.0.0.1/24 dev prp0
$far /real/ip addr add 10.0.0.2/24 dev prp0
/real/ip link set prp0 up
$far /real/ip link set prp0 up
sleep 5
ping -c 3 10.0.0.2 >/dev/null
echoes() { echo "result $1: $(ping -c 100 -i 0.02 -W 3 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p') of 100"; }
echoes before
(sleep 0.5; /real/ip link set lana down; sleep 1; /real/ip link set lana up) &
echoes back
poweroff -f
INIT
chmod +x guest/init
(cd guest && find . | "$folder/packages/bin/busybox" cpio -o -H newc 2>/dev/null) >initrd
timeout 300 qemu-system-x86_64 -M q35 -cpu max -m 256 -nodefaults -display none -no-reboot \
	-accel tcg -icount shift=1,sleep=off -smp 1 -serial stdio -kernel "$(echo packages/boot/vmlinuz-*)" -initrd initrd \
	-append 'console=ttyS0 quiet panic=-1 mitigations=off' </dev/null | tr -d '\r' >log
sed -n 's/^result //p' log
grep -q '^result before: 100 of 100' log && grep -Eq '^result back: 9[0-9] of 100' log
