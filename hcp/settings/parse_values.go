// This file parses the other annotation values: lists, choices, numbers, durations
// and labels. Each error describes the accepted values.

package settings

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
)

// maxListEntries limits the lists whose entries become DNS names and listeners,
// because each entry uses resources of every edge.
const maxListEntries = 64

// limitedList parses a comma-separated list of at most maxListEntries entries.
func limitedList[T any](v string, read func(string) (T, error)) ([]T, error) {
	if n := strings.Count(v, ",") + 1; n > maxListEntries {
		return nil, ValueError{network.ListTooLong, network.Args{"count": strconv.Itoa(n), "most": strconv.Itoa(maxListEntries)}}
	}
	return list(v, read)
}

// list parses a comma-separated list.
func list[T any](v string, read func(string) (T, error)) ([]T, error) {
	var out []T
	for part := range strings.SplitSeq(v, ",") {
		x, err := read(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

// oneOf reports whether v is second. It is an error if v is neither word.
func oneOf(v, first, second string) (bool, error) {
	if v != first && v != second {
		return false, want(first + " or " + second)
	}
	return v == second, nil
}

// services parses a list of servers. The result has the fixed order dhcp, dns,
// proxy, without duplicates.
func services(v string) ([]network.Service, error) {
	all := []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}
	wanted, err := list(v, func(s string) (network.Service, error) {
		if !slices.Contains(all, network.Service(s)) {
			return "", want("one or more of dhcp, dns, proxy, such as dns,proxy")
		}
		return network.Service(s), nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s network.Service) bool { return !slices.Contains(wanted, s) }), nil
}

func edges(v string) (int, error) {
	two, err := oneOf(v, "1", "2")
	switch {
	case err != nil:
		return 0, err
	case two:
		return 2, nil
	}
	return 1, nil
}

func leaseTime(v string) (network.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < time.Minute || d > 7*24*time.Hour {
		return 0, want("a duration from 1m to 168h such as 1h")
	}
	return network.Duration(d), nil
}

func mtu(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 576 || n > 65535 {
		return 0, want("a number of bytes from 576 to 65535")
	}
	return n, nil
}

func paused(v string) error {
	if slices.Contains([]string{"true", "false"}, v) {
		return nil
	}
	if _, err := time.Parse(time.RFC3339, v); err != nil {
		return want("true, false, or a time such as 2026-01-02T15:04:05Z")
	}
	return nil
}

func upstreams(v string) (*network.Upstreams, error) {
	switch v {
	case string(network.UpstreamNone), string(network.UpstreamManagement):
		return &network.Upstreams{Mode: network.UpstreamMode(v)}, nil
	}
	servers, err := list(v, func(s string) (netip.AddrPort, error) {
		if ap, err := netip.ParseAddrPort(s); err == nil && ap.Addr().Is4() && ap.Port() != 0 {
			return ap, nil
		}
		a, err := ipv4(s)
		if err != nil {
			return netip.AddrPort{}, want("none, management, or IPv4 addresses with or without a port")
		}
		return netip.AddrPortFrom(a, 53), nil
	})
	if err != nil {
		return nil, err
	}
	return &network.Upstreams{Mode: network.UpstreamServers, Servers: servers}, nil
}

// nodeLabels parses a comma-separated list of key=value. A repeated key is an
// error, because a node has one value for it.
func nodeLabels(v string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) > 0 {
			return nil, want("labels of nodes such as vlan100=yes, separated by commas")
		}
		if _, twice := out[key]; twice {
			return nil, bad(network.ListEntryRepeated, key)
		}
		out[key] = value
	}
	return out, nil
}
