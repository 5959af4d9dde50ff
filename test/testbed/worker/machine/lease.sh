#!/bin/sh
# Called by udhcpc (busybox) for every event: does to the machine what NetworkManager
# would. The lease is in the environment; what was applied is left in "lease".
event=$1
state=/run/machine

route() { # DESTINATION GATEWAY; 0.0.0.0 as the gateway: on the link itself (RFC 3442)
	if [ "$2" = 0.0.0.0 ]; then
		ip route replace "$1" dev "$interface"
	else
		ip route replace "$1" via "$2" dev "$interface"
	fi
}

case $event in
deconfig)
	ip addr flush dev "$interface"
	ip link set "$interface" up
	rm -f $state/lease
	;;
bound | renew)
	[ -z "$mtu" ] || ip link set "$interface" mtu "$mtu"
	ip addr replace "$ip/${mask:-32}" dev "$interface" valid_lft "$lease" preferred_lft "$lease"
	if [ -n "$staticroutes" ]; then # option 121: then option 3 is ignored
		set -- $staticroutes
		while [ $# -ge 2 ]; do
			route "$1" "$2"
			shift 2
		done
	else
		for r in $router; do
			route default "$r"
			break
		done
	fi
	{
		for s in ${search:-$domain}; do list="$list $s"; done
		[ -z "$list" ] || echo "search$list"
		for s in $dns; do echo "nameserver $s"; done
	} >$state/resolv.conf
	[ -z "$hostname" ] || hostname "$hostname"
	printf '127.0.0.1 localhost\n%s %s\n' "$ip" "$hostname" >$state/hosts
	{
		echo "event=$event"
		for v in interface ip mask router staticroutes dns domain search mtu ntpsrv hostname serverid lease; do
			eval "echo \"$v=\$$v\""
		done
	} >$state/lease.new
	mv $state/lease.new $state/lease
	;;
esac
