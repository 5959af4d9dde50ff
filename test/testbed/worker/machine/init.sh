#!/bin/sh
# The first process of a machine: makes its mounts, then only reaps. Its end is the
# end of everything in the machine.
#   $1: the state directory
set -e
mount --make-rslave /
mount --make-rshared /          # kubelet and runtime propagate among themselves, never to the host
mount -t proc proc /proc
resolv=$(readlink -m /etc/resolv.conf)
mount -t tmpfs -o mode=755 machine /run
mkdir -p /run/machine /run/lock "$(dirname "$resolv")"
mount --bind "$1" /run/machine
# What the host knows about names is not known here: only what DHCP will say.
: >/run/machine/resolv.conf
[ -e "$resolv" ] || : >"$resolv"
mount --bind /run/machine/resolv.conf "$resolv"
printf '127.0.0.1 localhost\n' >/run/machine/hosts
mount --bind /run/machine/hosts /etc/hosts
hostname localhost
: >/run/booted
trap : TERM INT HUP
while :; do
	sleep 1000000 &
	wait $! || :
done
