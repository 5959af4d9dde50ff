// This file has the formats of the other values: lists, choices, numbers, durations and labels.

package settings

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// maxListEntries limits lists: each entry costs resources of every edge, can be a problem on every network, and is compared
// with those of other clusters.
const maxListEntries = 64

func limitedList[T any](v string, read func(string) (T, error)) ([]T, error) {
	if err := limited(v); err != nil {
		return nil, err
	}
	return list(v, read)
}

// limited returns an error if the list v has more than maxListEntries entries.
func limited(v string) error {
	if n := strings.Count(v, ",") + 1; n > maxListEntries {
		return ValueError{problem.ListTooLong, problem.Args{"count": {strconv.Itoa(n)}, "most": {strconv.Itoa(maxListEntries)}}}
	}
	return nil
}

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

// oneOf is the format of a choice between two words. The parsed value is true for second.
func oneOf(first, second string) format[bool] {
	what := first + " or " + second
	parse := func(v string) (bool, error) {
		if v != first && v != second {
			return false, want(what)
		}
		return v == second, nil
	}
	return format[bool]{parse, []Requirement{wanted(what, in(first, second))}}
}

func accessLogs() format[network.AccessLog] {
	var words []string
	for _, l := range network.AccessLogs() {
		words = append(words, string(l))
	}
	const what = "none, failures or all"
	parse := func(v string) (network.AccessLog, error) {
		if !slices.Contains(words, v) {
			return "", want(what)
		}
		return network.AccessLog(v), nil
	}
	return format[network.AccessLog]{parse, []Requirement{wanted(what, in(words...))}}
}

func in(words ...string) string { return "v in ['" + strings.Join(words, "', '") + "']" }

// serviceLists is the format of a list of servers. The parsed value has the order dhcp, dns, ntp, proxy, without
// duplicates. For "none" it is empty and not nil.
func serviceLists() format[[]network.Service] {
	const none = "none"
	var words []string
	for _, s := range network.AllServices() {
		words = append(words, string(s))
	}
	what := "none, or one or more of " + strings.Join(words, ", ") + ", such as dns,proxy"
	one := func(s string) (network.Service, error) {
		if !slices.Contains(words, s) {
			return "", want(what)
		}
		return network.Service(s), nil
	}
	parse := func(v string) ([]network.Service, error) {
		if v == none {
			return []network.Service{}, nil
		}
		listed, err := list(v, one)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(network.AllServices(), func(s network.Service) bool { return !slices.Contains(listed, s) }), nil
	}
	valid := in(none) + " || v.split(',').all(e, [e.trim()].all(v, " + in(words...) + "))"
	return format[[]network.Service]{parse, []Requirement{wanted(what, valid)}}
}

// servicesBesidesTime returns the services of s without NTP. Edges run the NTP server if one NodePool of the network
// selects it, so NodePools may differ in NTP.
func servicesBesidesTime(s Values) any {
	return slices.DeleteFunc(network.AllServices(), func(x network.Service) bool { return x == network.ServiceNTP || !s.Selects(x) })
}

func addsTime(own, other Values) bool {
	return other.Selects(network.ServiceNTP) && !own.Selects(network.ServiceNTP)
}

func edgeCounts() format[int] {
	choice := oneOf("1", "2")
	parse := func(v string) (int, error) {
		two, err := choice.parse(v)
		switch {
		case err != nil:
			return 0, err
		case two:
			return 2, nil
		}
		return 1, nil
	}
	return format[int]{parse, choice.requirements}
}

// leaseTimes is the format of a Go duration. In CEL, a number of hours that overflows is an evaluation error, so only the
// operator refuses it.
func leaseTimes() format[network.Duration] {
	const what = "a duration from 1m to 168h such as 1h"
	const valid = `v.matches(r'^[-+]?(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|\x{b5}s|\x{3bc}s|ms|s|m|h))+$') && ` +
		`duration(v) >= duration('60s') && duration(v) <= duration('604800s')`
	parse := func(v string) (network.Duration, error) {
		d, err := time.ParseDuration(v)
		if err != nil || d < time.Minute || d > network.LongestLeaseTime {
			return 0, want(what)
		}
		return network.Duration(d), nil
	}
	return format[network.Duration]{parse, []Requirement{wanted(what, valid)}}
}

func mtus() format[int] {
	what := fmt.Sprintf("a number of bytes from %d to %d", network.MinMTU, network.MaxMTU)
	parse := func(v string) (int, error) {
		n, err := strconv.Atoi(v)
		if err != nil || n < network.MinMTU || n > network.MaxMTU {
			return 0, want(what)
		}
		return n, nil
	}
	return format[int]{parse, []Requirement{wanted(what, fmt.Sprintf("v.matches('^[+]?0*[0-9]{1,5}$') && int(v) >= %d && int(v) <= %d", network.MinMTU, network.MaxMTU))}}
}

// pauses is the format of paused: a boolean or a time. CEL does not check that the day exists, so only the operator
// refuses February 30.
func pauses() format[string] {
	const what = "true, false, or a time such as 2026-01-02T15:04:05Z"
	const valid = `v in ['true', 'false'] || v.matches(r'^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{1,2}:[0-9]{2}:[0-9]{2}` +
		`([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})$')`
	parse := func(v string) (string, error) {
		if v == "true" || v == "false" {
			return v, nil
		}
		if _, err := time.Parse(time.RFC3339, v); err != nil {
			return v, want(what)
		}
		return v, nil
	}
	return format[string]{parse, []Requirement{wanted(what, valid)}}
}

// upstreamLists is the format of DNS servers: a mode, or addresses with or without a port.
func upstreamLists() format[*network.Upstreams] {
	const what = "none, management, or IPv4 addresses with or without a port"
	modes := in(string(network.UpstreamNone), string(network.UpstreamManagement))
	return format[*network.Upstreams]{upstreams(what), []Requirement{tooLong(commaSeparated), wanted(what, modes+` || v.split(',').all(e, [e.trim()].all(a, `+
		`a.matches('^[0-9.]+(:0*[0-9]{1,5})?$') && isIP(a.split(':')[0]) && `+
		`(!a.contains(':') || int(a.split(':')[1]) > 0 && int(a.split(':')[1]) <= 65535)))`)}}
}

func upstreams(what string) func(v string) (*network.Upstreams, error) {
	return func(v string) (*network.Upstreams, error) {
		switch v {
		case string(network.UpstreamNone), string(network.UpstreamManagement):
			return &network.Upstreams{Mode: network.UpstreamMode(v)}, nil
		}
		servers, err := limitedList(v, func(s string) (netip.AddrPort, error) {
			if ap, err := netip.ParseAddrPort(s); err == nil && ap.Addr().Is4() && ap.Port() != 0 {
				return ap, nil
			}
			a, err := ipv4(s)
			if err != nil {
				return netip.AddrPort{}, want(what)
			}
			return netip.AddrPortFrom(a, 53), nil
		})
		if err != nil {
			return nil, err
		}
		return &network.Upstreams{Mode: network.UpstreamServers, Servers: servers}, nil
	}
}

const wantLabels = "labels of nodes such as vlan100=yes, separated by commas"

// nodeLabelLists is the format of a node selector. CEL compares all pairs of keys to find repeated ones.
func nodeLabelLists() format[map[string]string] {
	const name = `[[:alnum:]]([-[:alnum:]_.]{0,61}[[:alnum:]])?`
	const label = `v.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?` + name + `=(` + name + `)?$') && ` +
		`v.indexOf('/') <= 253`
	const keys = `v.split(',').map(e, e.trim().split('=')[0])`
	once := Requirement{
		Valid:    "[" + keys + "].all(keys, keys.all(k, keys.exists_one(o, o == k)))",
		Cause:    problem.ListEntryRepeated,
		Computed: map[string]string{"value": "[" + keys + "].map(keys, keys.filter(k, !keys.exists_one(o, o == k))[0])[0]"},
	}
	return format[map[string]string]{nodeLabels, slices.Concat([]Requirement{tooLong(commaSeparated)}, forEach(commaSeparated, []Requirement{wanted(wantLabels, label)}), []Requirement{once})}
}

// nodeLabels parses a comma-separated list of key=value. A repeated key is an error: a node has one value for it.
func nodeLabels(v string) (map[string]string, error) {
	if err := limited(v); err != nil {
		return nil, err
	}
	out := map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) > 0 {
			return nil, want(wantLabels)
		}
		if _, twice := out[key]; twice {
			return nil, bad(problem.ListEntryRepeated, key)
		}
		out[key] = value
	}
	return out, nil
}
