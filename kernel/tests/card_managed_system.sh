# SPDX-License-Identifier: GPL-2.0-only
# In a minimal Debian, as root (scripts/chroot.py): adds what manages a machine's network, takes away what no guest needs, and
# packs the system as out/system.cpio. No service of it starts by itself; card_managed_first.sh enables those of a test.
set -e
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get -q update
# shellcheck disable=SC2086  # a list of words
apt-get install -y -q --no-install-recommends $(cat packages)
apt-get purge -y -q --auto-remove git gcc make ca-certificates
rm /usr/sbin/policy-rc.d

# What a manager of the network is in Debian is a matter of one unit each.
find /etc/systemd/system -type l \( -path '*.wants/*' -o -name 'dbus-org*' \) -delete
systemctl mask apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer systemd-timesyncd.service
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
echo managed >/etc/hostname
printf '127.0.0.1 localhost managed\n::1 localhost\n' >/etc/hosts
keys=$(getent passwd root | cut -d: -f6)/.ssh
mkdir -p "$keys"
ssh-keygen -q -t ed25519 -N '' -f "$keys/id_ed25519"
cp "$keys/id_ed25519.pub" "$keys/authorized_keys"
printf 'UseDNS no\nUsePAM no\nPrintMotd no\n' >/etc/ssh/sshd_config.d/guest.conf

mkdir -p out
find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /srv -o -path /boot \
	-o -path /var/cache -o -path /var/lib/apt/lists -o -path /var/lib/dpkg/info -o -path /usr/share/doc -o -path /usr/share/man \
	-o -path /usr/share/locale -o -path /usr/share/i18n -o -path /usr/share/perl -o -path /usr/lib/gcc -o -path /usr/lib/udev/hwdb.d \
	-o -path '/usr/lib/*/perl' -o -path '/usr/lib/*/gconv' -o -name '*san.so*' -o -name 'x86_64-linux-gnu-*' \) -prune -o -print |
	sed 's,^/,,; /^$/d' >/srv/members
printf '%s\n' proc sys dev run tmp srv boot var/cache >>/srv/members
(cd / && cpio -o -H newc --quiet) </srv/members >out/system.cpio
ls -l out/system.cpio
