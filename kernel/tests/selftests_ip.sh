#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# `ip` for so_txtime.sh: the pair of veth devices that it makes are two keepon links over sim0 and sim1 here, or with SHARED=yes
# these cards with a link on each, and every other
# command is that of the real one. The link has CLOCK_TAI for txtimes, and slots in which there is IPv6.
ip=/usr/bin/ip
case $* in
"link add "*" type veth peer name "*)
	# link add NAME netns A type veth peer name NAME netns B
	name=$3 near=$5 far=${12}
	$ip link set sim0 netns "$near" && $ip link set sim1 netns "$far" || exit 1
	for end in "sim0 $near" "sim1 $far"; do
		space=${end#* } device=${end% *}
		if [ "$SHARED" = yes ]; then
			$ip -n "$space" link set "$device" down name "$name" || exit 1
			$ip -n "$space" link set "$name" up || exit 1
			# shellcheck disable=SC2086 # words
			$ip -n "$space" link add link "$name" name rt0 type keepon $LINK_OPTIONS || exit 1
			$ip -n "$space" link set rt0 up || exit 1
			continue
		fi
		$ip -n "$space" link set "$device" up || exit 1
		# shellcheck disable=SC2086 # words
		$ip -n "$space" link add link "$device" name "$name" type keepon receive all $LINK_OPTIONS || exit 1
	done
	;;
*)
	exec $ip "$@"
	;;
esac
