// Package proxybench compares proxies that pass TLS on by its server name, on the loopback device of one network namespace: ours,
// HAProxy and nginx, each with two threads. The test binary is the client and the backend, in processes of their own. One
// run measures the proxies alternately, so that ratios hold on a busy host. `make bench-proxy` runs it.
package proxybench
