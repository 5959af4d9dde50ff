// This file parses the operator's flags that limit what HostedClusters may ask for.

package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
)

// A PermissionFlag is a flag of the operator that limits what HostedClusters may ask for.
type PermissionFlag struct {
	// Flag is the name of the flag, without dashes. Env is the environment variable that also sets it.
	Flag, Env string
	// Default is the value of the flag if it is empty.
	Default string
	// Usage says what the entries mean.
	Usage string
	set   func(*network.Permissions, string) error
}

// PermissionFlags returns the flags in the order of the documentation. Their values are lists separated by commas, or
// "none".
func PermissionFlags() []PermissionFlag {
	return []PermissionFlag{
		{Flag: "permit-hosts", Env: "OOOI_PERMIT_HOSTS", Default: "*",
			Usage: "external `hosts` that VMs of HostedClusters may reach: names, *.example.com for all names below example.com, or * for all hosts",
			set:   func(p *network.Permissions, v string) (err error) { p.Hosts, err = entries(v, hostPattern); return err }},
		{Flag: "permit-ports", Env: "OOOI_PERMIT_PORTS", Default: "443,5000,8443",
			Usage: "TCP `ports` of external hosts: numbers, ranges such as 8000-8100, or * for all ports",
			set:   func(p *network.Permissions, v string) (err error) { p.Ports, err = entries(v, portRange); return err }},
		{Flag: "permit-upstreams", Env: "OOOI_PERMIT_UPSTREAMS", Default: "*",
			Usage: "`addresses` and CIDRs that the annotation dns-upstreams may name, or * for all addresses",
			set:   func(p *network.Permissions, v string) (err error) { p.Upstreams, err = entries(v, prefix); return err }},
		{Flag: "permit-edge-node-labels", Env: "OOOI_PERMIT_EDGE_NODE_LABELS", Default: "*,!node-role.kubernetes.io/master,!node-role.kubernetes.io/control-plane",
			Usage: "`keys` of node labels that annotation edge-node-selector may have: keys, example.com/* for all with that prefix, or * for all; !key forbids a key",
			set: func(p *network.Permissions, v string) (err error) {
				p.NodeLabels, err = entries(v, labelPattern)
				permits := func(pattern string) bool { return !strings.HasPrefix(pattern, "!") }
				if len(p.NodeLabels) > 0 && !slices.ContainsFunc(p.NodeLabels, permits) {
					return errors.New("permits no label; begin with * to permit all others")
				}
				return err
			}},
		{Flag: "permit-destinations", Env: "OOOI_PERMIT_DESTINATIONS", Default: "none",
			Usage: "`addresses` and CIDRs inside the management cluster that edges may reach for VMs, such as a mirror on its ingress",
			set: func(p *network.Permissions, v string) (err error) {
				p.Destinations, err = entries(v, prefix)
				return err
			}},
	}
}

// Set parses a value of the flag into p. An empty value keeps the default. Errors name both the flag and its
// environment variable, since either can set the value.
func (f PermissionFlag) Set(p *network.Permissions, v string) error {
	if strings.TrimSpace(v) == "" {
		return nil
	}
	if err := f.set(p, v); err != nil {
		return fmt.Errorf("--%s or $%s: %s: %w", f.Flag, f.Env, v, err)
	}
	return nil
}

// entries parses a list. "none" is an empty list, not nil.
func entries[T any](v string, read func(string) (T, error)) ([]T, error) {
	if strings.TrimSpace(v) == "none" {
		return []T{}, nil
	}
	return list(v, func(entry string) (T, error) {
		if entry == "none" {
			var zero T
			return zero, errors.New("none cannot have other entries next to it")
		}
		return read(entry)
	})
}

func hostPattern(v string) (string, error) {
	if v == "*" {
		return v, nil
	}
	below, wildcard := strings.CutPrefix(v, "*.")
	name, err := DomainName(below)
	if err != nil {
		return "", fmt.Errorf("%s is not a host name, *.<domain> or *", v)
	}
	if wildcard {
		return "*." + name, nil
	}
	return name, nil
}

func portRange(v string) (network.PortRange, error) {
	if v == "*" {
		return network.PortRange{First: 1, Last: 65535}, nil
	}
	first, last, isRange := strings.Cut(v, "-")
	if !isRange {
		last = first
	}
	f, errFirst := strconv.ParseUint(first, 10, 16)
	l, errLast := strconv.ParseUint(last, 10, 16)
	if errFirst != nil || errLast != nil || f == 0 || l < f {
		return network.PortRange{}, fmt.Errorf("%s is not a port from 1 to 65535, first-last or *", v)
	}
	return network.PortRange{First: uint16(f), Last: uint16(l)}, nil
}

func prefix(v string) (netip.Prefix, error) {
	if v == "*" {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0), nil
	}
	if a, err := ipv4(v); err == nil {
		return network.Host(a), nil
	}
	p, err := cidr(v)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s is not an IPv4 address, an IPv4 CIDR without host bits, or *", v)
	}
	return p, nil
}

func labelPattern(v string) (string, error) {
	key := strings.TrimSuffix(strings.TrimPrefix(v, "!"), "*")
	if key != "" && len(validation.IsQualifiedName(strings.TrimSuffix(key, "/"))) > 0 {
		return "", fmt.Errorf("%s is not the key of a label, a prefix of keys with *, or *", v)
	}
	return v, nil
}
