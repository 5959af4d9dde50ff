// Package dnsbench compares DNS servers on the loopback device of one network namespace: ours, CoreDNS with the plugin
// file, with and without a view, knot, unbound and dnsmasq. Each runs on one core, and dnsperf on another. One run
// measures them alternately, so that ratios hold on a busy host. `make bench-dns` runs it.
package dnsbench
