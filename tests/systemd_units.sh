# SPDX-License-Identifier: BSD-3-Clause
# The first process of a container is systemd itself, with the units of systemd/ and a card eth0 (a veth) whose file is
# $CONTAINER/eth0.toml. Then `checks` below runs as a service of it. $KEEPON: the command; $CONTAINER: folder of the test.
#
# The container has the machine's files, so all of them are made read-only before systemd starts, and it finds no units but
# those written here: the machine's own would tidy up /tmp, set sysctls and more.
set -eu

# own: nothing of this machine can be changed from here on
own() {
	mount --make-rprivate /
	mount --bind "$CONTAINER" "$CONTAINER"
	# Some of the kernel's own cannot be; whether anything can still be changed is tried below.
	cut -d' ' -f5 /proc/self/mountinfo | sort -ur | while read -r place; do
		case $place in
		"$CONTAINER") ;;
		*) mount -o remount,bind,ro "$(printf %b "$place")" 2>/dev/null || true ;;
		esac
	done
	mount --bind /proc/sys /proc/sys
	mount -o remount,bind,ro /proc/sys
	for place in / /tmp /var/tmp /var/lib /etc /usr /root /home /run /dev/shm /proc/sys/kernel "$UNITS"; do
		if [ -d "$place" ] && touch "$place/.keepon-test" 2>/dev/null; then
			rm -f "$place/.keepon-test"
			echo "$place could be changed: not started" >&2
			exit 1
		fi
	done
}

if [ "${1:-}" != checks ]; then
	own
	mount -t tmpfs tmpfs /run
	mkdir -p /run/systemd /run/lock /run/netns
	mount -t tmpfs tmpfs /var
	mkdir /var/lib /var/log /var/tmp
	mkdir "$CONTAINER/etc"
	mount -t tmpfs tmpfs "$CONTAINER/etc"
	for file in passwd group nsswitch.conf ld.so.cache ld.so.conf ld.so.conf.d iproute2 alternatives localtime; do
		[ ! -e "/etc/$file" ] || cp -a "/etc/$file" "$CONTAINER/etc"
	done
	echo 0123456789abcdef0123456789abcdef > "$CONTAINER/etc/machine-id"
	units=$CONTAINER/etc/systemd/system
	mkdir -p "$units" "$CONTAINER/etc/keepon"
	cp "$CONTAINER"/*.toml "$CONTAINER"/plan.json "$CONTAINER/etc/keepon"
	for unit in "$UNITS"/*.service; do
		sed "s,/usr/bin/keepon,$KEEPON," "$unit" > "$units/${unit##*/}"
	done
	for target in sysinit basic shutdown network-pre local-fs; do
		printf '[Unit]\nDefaultDependencies=no\n' > "$units/$target.target"
	done
	cat > "$units/test.target" <<-END
		[Unit]
		DefaultDependencies=no
		Wants=keepon@eth0.service network-pre.target network-marker.service checks.service
	END
	# stands for what sets addresses up
	cat > "$units/network-marker.service" <<-END
		[Unit]
		DefaultDependencies=no
		After=network-pre.target
		[Service]
		Type=oneshot
		ExecStart=/bin/sh -c 'cat /sys/class/net/eth0/operstate > $CONTAINER/at-network'
	END
	cat > "$units/checks.service" <<-END
		[Unit]
		DefaultDependencies=no
		After=keepon@eth0.service network-marker.service keepon-ptp4l@eth0.service keepon-phc2sys@eth0.service
		[Service]
		Type=oneshot
		StandardOutput=append:$CONTAINER/said
		StandardError=inherit
		Environment=CONTAINER=$CONTAINER KEEPON=$KEEPON UNITS=$UNITS PATH=$PATH
		ExecStart=/bin/sh $(realpath "$0") checks
		ExecStopPost=/bin/systemctl --force --force poweroff
	END
	mount --bind "$CONTAINER/etc" /etc
	mount -t sysfs -o ro sysfs /sys
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	ip link add eth0 type veth peer name eth9
	ip link set eth9 up
	[ ! "${PREPARE_ONLY:-}" ] || exit 0
	exec env -i container=other PATH="$PATH" SYSTEMD_UNIT_PATH=/etc/systemd/system \
		SYSTEMD_GENERATOR_PATH=/nonexistent SYSTEMD_ENVIRONMENT_GENERATOR_PATH=/nonexistent \
		/lib/systemd/systemd --unit=test.target --show-status=no --log-level=warning --log-target=console
fi

state() {
	ip -d -j link show dev eth0
	tc -j qdisc show dev eth0
	cat /proc/[0-9]*/comm | sed -nE '/ptp4l|phc2sys/p'
	ls -A /run/keepon | sed '/lock$/d'
}

# tell NAME COMMAND ...: a line "NAME what it prints"
tell() {
	_name=$1
	shift
	echo "$_name $("$@" 2>&1 | tr '\n' ' ')"
}

property() {
	systemctl show -p "$2" --value "$1"
}

tell active property keepon@eth0 ActiveState
sleep 1 # does ptp4l go on?
tell ptp4l property keepon-ptp4l@eth0 ActiveState
tell phc2sys property keepon-phc2sys@eth0 ActiveState
tell running sh -c 'cat /proc/[0-9]*/comm | grep -cx ptp4l'
systemctl stop keepon@eth0
tell stopped property keepon-ptp4l@eth0 ActiveState
ip link set eth0 up # once it was up, it has queues for good
sleep 0.5
ip link set eth0 down
state > "$CONTAINER/before"

systemctl start keepon@eth0
systemctl restart keepon@eth0
tell restarted property keepon@eth0 ActiveState
systemctl stop keepon@eth0
state > "$CONTAINER/after-stop"

ip link set eth9 down # no cable: waits for it, and is then put back
if systemctl start keepon@eth0; then
	echo "without a cable it starts all the same"
	exit 1
fi
tell unplugged property keepon@eth0 Result
ip link set eth9 up
state > "$CONTAINER/after-unplugged"

ip link set eth9 down
systemctl start --no-block keepon@eth0
until ip link show dev eth0 | grep -q ',UP'; do sleep 0.1; done
systemctl kill --signal=KILL keepon@eth0
until systemctl is-failed --quiet keepon@eth0; do sleep 0.1; done
tell killed property keepon@eth0 Result
ip link set eth9 up
state > "$CONTAINER/after-killed"

for file in wrong both; do
	tell $file "$KEEPON" apply --boot $file
done
tell none "$KEEPON" apply --boot none
tell odd "$KEEPON" apply --boot ../eth0
echo finished
