// This file reads how much memory and how many open files the container may have, and counts and resets connections
// for the Gate.

package main

import (
	"bufio"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/envoy/gate"
	"github.com/cldmnky/oooi/envoy/resources"
)

// openFiles returns how many files a process may have open: the hard limit, equal in all containers of a pod. Zero:
// unknown.
func openFiles() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return l.Max
}

// containerMemory returns the memory limit of this process in bytes, the smallest of its cgroup and those around it.
// Zero: no limit. root is "/".
func containerMemory(root string) uint64 {
	f, err := os.Open(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	smallest := uint64(math.MaxUint64)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// The fields are hierarchy:controllers:path, see cgroups(7). A container sees its own cgroup as the root.
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		hierarchy, file := "", ""
		switch {
		case parts[1] == "":
			file = "memory.max"
		case parts[1] == "memory":
			hierarchy, file = "memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for path := filepath.Clean("/" + parts[2]); ; path = filepath.Dir(path) {
			smallest = min(smallest, limitIn(filepath.Join(root, "sys/fs/cgroup", hierarchy, path, file)))
			if path == "/" {
				break
			}
		}
	}
	if smallest > math.MaxInt64/2 {
		return 0
	}
	return smallest
}

// limitIn returns the number in a file of a cgroup. A file without a number means no limit.
func limitIn(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return math.MaxUint64
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return math.MaxUint64
	}
	return n
}

// newGate returns a Gate that counts the connections on an interface, and a function that closes its sources. If the
// kernel does not allow counting, only Envoy's own limits apply.
func newGate(name string, limits resources.Limits, log *slog.Logger) (*gate.Gate, func()) {
	g := &gate.Gate{Limits: limits, Log: log}
	clients, err := device.OpenClients(name)
	if err != nil {
		g.Each = func(func(local, remote netip.AddrPort)) error { return err }
		g.MACOf = func(netip.Addr) string { return "" }
		return g, func() {}
	}
	g.Each, g.Sockets, g.MACOf = clients.Each, clients.Sockets, clients.MACOf
	resetter := device.NewResetter(clients, g.CountReset)
	g.Reset = func(all []gate.Senders) error {
		var to []device.Senders
		for _, s := range all {
			to = append(to, device.Senders(s))
		}
		return resetter.Set(to...)
	}
	return g, clients.Close
}
