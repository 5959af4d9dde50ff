// This file gets the address of a machine with busybox's udhcpc, which requests the same options as a RHCOS node, and reads the lease.
// The script of udhcpc sets the address.

package machine

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cldmnky/oooi/test/testbed/await"
)

//go:embed lease.sh
var leaseScript string

// Interface is the name of the machine's only network interface.
const Interface = "enp1s0"

// A Lease is a DHCP lease that was applied.
type Lease struct {
	Address netip.Prefix
	// Router is option 3, and Routes option 121. With Routes, Router is not used.
	Router netip.Addr
	Routes []Route
	DNS    []netip.Addr
	// NTP are the time servers of option 42.
	NTP []netip.Addr
	// Search is option 119, or the one domain of option 15.
	Search []string
	// MTU is in bytes. 0: the option was not sent.
	MTU      int
	HostName string
	Server   netip.Addr
	Duration time.Duration
}

// A Route is one of option 121 (RFC 3442).
type Route struct {
	Destination netip.Prefix
	Via         netip.Addr
}

// dhcpOptions are the options in NetworkManager's parameter request list that udhcpc supports.
var dhcpOptions = [...]string{"subnet", "router", "dns", "hostname", "domain", "mtu", "broadcast", "staticroutes", "ntpsrv", "search", "msstaticroutes"}

// AskDHCP starts the client, and waits for its lease for at most limit. The client keeps running, and renews the lease.
func (m *Machine) AskDHCP(ctx context.Context, limit time.Duration) (Lease, error) {
	script, err := m.WriteFile("lease.sh", []byte(leaseScript), 0o755)
	if err != nil {
		return Lease{}, err
	}
	// As NetworkManager does, send again about two seconds after a request without an answer, and never give up.
	args := []string{"-f", "-i", Interface, "-s", script, "-t", "0", "-T", "2", "-o"}
	for _, o := range dhcpOptions {
		args = append(args, "-O", o)
	}
	if err := m.Start("udhcpc", nil, "udhcpc", args...); err != nil {
		return Lease{}, err
	}
	return m.waitLease(ctx, limit)
}

func (m *Machine) waitLease(ctx context.Context, limit time.Duration) (Lease, error) {
	var lease Lease
	err := await.Poll(ctx, limit, func() (bool, error) {
		text, err := os.ReadFile(filepath.Join(m.Dir, "lease"))
		if err != nil {
			return false, nil // The script renames the file when it is complete.
		}
		lease, err = parseLease(string(text))
		return true, err
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return Lease{}, fmt.Errorf("no DHCP server gave a lease in %s", limit)
	}
	return lease, err
}

// Lease returns the current lease of the machine, or an error if it has none.
func (m *Machine) Lease() (Lease, error) {
	text, err := os.ReadFile(filepath.Join(m.Dir, "lease"))
	if err != nil {
		return Lease{}, err
	}
	return parseLease(string(text))
}

// parseLease parses the lines key=value that the client's script has written.
func parseLease(text string) (Lease, error) {
	v := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		v[key] = value
	}
	var l Lease
	var err error
	if l.Address, err = netip.ParsePrefix(v["ip"] + "/" + v["mask"]); err != nil {
		return Lease{}, fmt.Errorf("lease: %w", err)
	}
	if l.Server, err = netip.ParseAddr(v["serverid"]); err != nil {
		return Lease{}, fmt.Errorf("lease: server: %w", err)
	}
	if routers := strings.Fields(v["router"]); len(routers) > 0 {
		if l.Router, err = netip.ParseAddr(routers[0]); err != nil {
			return Lease{}, fmt.Errorf("lease: router: %w", err)
		}
	}
	if l.DNS, err = parseAddresses(strings.Fields(v["dns"])); err != nil {
		return Lease{}, fmt.Errorf("lease: dns: %w", err)
	}
	if l.NTP, err = parseAddresses(strings.Fields(v["ntpsrv"])); err != nil {
		return Lease{}, fmt.Errorf("lease: ntpsrv: %w", err)
	}
	if l.Routes, err = parseRoutes(strings.Fields(v["staticroutes"])); err != nil {
		return Lease{}, err
	}
	if l.Search = strings.Fields(v["search"]); len(l.Search) == 0 {
		l.Search = strings.Fields(v["domain"])
	}
	l.HostName = v["hostname"]
	l.MTU, _ = strconv.Atoi(v["mtu"]) // It may be empty.
	seconds, err := strconv.Atoi(v["lease"])
	if err != nil {
		return Lease{}, fmt.Errorf("lease: time: %w", err)
	}
	l.Duration = time.Duration(seconds) * time.Second
	return l, nil
}

func parseAddresses(fields []string) ([]netip.Addr, error) {
	var all []netip.Addr
	for _, f := range fields {
		address, err := netip.ParseAddr(f)
		if err != nil {
			return nil, err
		}
		all = append(all, address)
	}
	return all, nil
}

func parseRoutes(fields []string) ([]Route, error) {
	if len(fields)%2 != 0 {
		return nil, fmt.Errorf("lease: routes: %q", fields)
	}
	var routes []Route
	for i := 0; i < len(fields); i += 2 {
		to, err := netip.ParsePrefix(fields[i])
		if err != nil {
			return nil, fmt.Errorf("lease: routes: %w", err)
		}
		via, err := netip.ParseAddr(fields[i+1])
		if err != nil {
			return nil, fmt.Errorf("lease: routes: %w", err)
		}
		routes = append(routes, Route{Destination: to, Via: via})
	}
	return routes, nil
}

// String returns l as one line.
func (l Lease) String() string {
	s := fmt.Sprintf("%s from %s for %s, name %s, dns %v, ntp %v", l.Address, l.Server, l.Duration, l.HostName, l.DNS, l.NTP)
	for _, r := range l.Routes {
		s += fmt.Sprintf(", %s via %s", r.Destination, r.Via)
	}
	return s
}
