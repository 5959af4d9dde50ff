#!/bin/sh
# Called by udhcpc (busybox) for every event: gives the card its address and routes,
# as a machine does, and says on standard output what happened.
case $1 in
deconfig) ip addr flush dev "$interface" ;;
bound | renew)
	ip addr replace "$ip/${mask:-32}" dev "$interface"
	event=$1
	set -- $staticroutes
	while [ $# -ge 2 ]; do
		[ "$2" = 0.0.0.0 ] || ip route replace "$1" via "$2" dev "$interface"
		shift 2
	done
	echo "$event $ip $serverid"
	;;
esac
