// This file reads all other annotation values: lists, words to choose from,
// numbers, durations and labels. Every error says what is wanted, with an example.

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

// longestList is how many entries a list may have that becomes names and
// connections: each costs every edge.
const longestList = 64

// few reads a list of at most longestList entries.
func few[T any](v string, read func(string) (T, error)) ([]T, error) {
	if n := strings.Count(v, ",") + 1; n > longestList {
		return nil, ValueError{network.ListTooLong, network.Args{"count": strconv.Itoa(n), "most": strconv.Itoa(longestList)}}
	}
	return each(v, read)
}

// each reads a list with commas.
func each[T any](v string, read func(string) (T, error)) ([]T, error) {
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

// oneOf says whether v is the second of two words.
func oneOf(v, first, second string) (bool, error) {
	if v != first && v != second {
		return false, want(first + " or " + second)
	}
	return v == second, nil
}

// services reads the servers that run, in their order and each once.
func services(v string) ([]network.Service, error) {
	all := []network.Service{network.ServiceDHCP, network.ServiceDNS, network.ServiceProxy}
	said, err := each(v, func(s string) (network.Service, error) {
		if !slices.Contains(all, network.Service(s)) {
			return "", want("one or more of dhcp, dns, proxy, such as dns,proxy")
		}
		return network.Service(s), nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s network.Service) bool { return !slices.Contains(said, s) }), nil
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
	servers, err := each(v, func(s string) (netip.AddrPort, error) {
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

// nodeLabels reads key=value, more than one with commas: each key once, since a
// node has one value of it.
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
