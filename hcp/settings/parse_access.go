// This file has the formats of the annotations about management access: destinations and ServiceAccounts.

package settings

import (
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cldmnky/oooi/network"
)

const (
	wantAccess   = "destinations with ports, such as nodes:10250,apps:443,5432=192.168.100.60:5432"
	wantAppsPort = "apps:443 or apps:80"
	wantBalanced = "loadbalancers, without a port"
	wantAccounts = "ServiceAccounts such as monitoring/prometheus"
)

// accessEntries is the format of "[port=]destination:port". Package derive decides whether the destination can be opened.
func accessEntries() format[network.AccessEntry] {
	const number = "0*[1-9][0-9]{0,4}"
	const balanced = "v.matches('(?i)^loadbalancers[.]?$') || "
	const ports = "v.split('=').size() > 1 ? [v.split('=')[0], v.split(':')[1]] : [v.split(':')[1]]"
	const name = "[v.split('=')[v.split('=').size() - 1].split(':')[0]]"
	return format[network.AccessEntry]{accessEntry, []Requirement{
		wanted(wantBalanced, balanced+"!v.matches('(?i)^([0-9]+=)?loadbalancers[.]?(:.*)?$')"),
		wanted(wantAccess, balanced+"v.matches('^("+number+"=)?[^=:]+:"+number+"$') && ("+ports+").all(p, int(p) <= 65535)"),
		wanted(wantAccess, balanced+name+".all(n, "+isDomain("n")+")"),
		wanted(wantAppsPort, "!v.lowerAscii().matches('^([0-9]+=)?apps[.]?:') || v.matches(':0*(443|80)$')"),
	}}
}

func accessEntry(v string) (network.AccessEntry, error) {
	e, rest := network.AccessEntry{}, v
	if isBalanced(v) {
		e.Destination = network.AccessLoadBalancers
		return e, nil
	}
	if listen, after, ok := strings.Cut(v, "="); ok {
		n, err := strconv.ParseUint(listen, 10, 16)
		if err != nil || n == 0 {
			return e, want(wantAccess)
		}
		e.Listen, rest = uint16(n), after
	}
	destination, port, _ := strings.Cut(rest, ":")
	if isBalanced(destination) {
		return e, want(wantBalanced)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return e, want(wantAccess)
	}
	if e.Destination, err = DomainName(destination); err != nil {
		return e, want(wantAccess)
	}
	e.Port = uint16(n)
	if e.Destination == network.AccessApps && e.Port != network.PortHTTPS && e.Port != network.PortHTTP {
		return e, want(wantAppsPort)
	}
	if a, err := netip.ParseAddr(e.Destination); err == nil && a.Is4() {
		e.Addresses = []netip.Addr{a}
	}
	return e, nil
}

// isBalanced reports whether v is the word loadbalancers, in any case, with or without a trailing dot.
func isBalanced(v string) bool {
	return strings.EqualFold(strings.TrimSuffix(v, "."), network.AccessLoadBalancers)
}

func accounts() format[string] {
	const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
	return format[string]{account, []Requirement{
		wanted(wantAccounts, "v.matches('^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/"+label+"([.]"+label+")*$') && v.split('/')[1].size() <= 253"),
	}}
}

func account(v string) (string, error) {
	ns, name, ok := strings.Cut(v, "/")
	if !ok || len(validation.IsDNS1123Label(ns))+len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "", want(wantAccounts)
	}
	return v, nil
}
