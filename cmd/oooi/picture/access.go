// This file finds the parts of a picture about management access. It is pure.

package picture

import (
	"strings"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/explain"
)

func callersOf(a *status.Access) (out []shown) {
	if a == nil {
		return nil
	}
	if a.Proxy != "" {
		for _, ns := range a.Namespaces {
			out = append(out, shown{ns, "namespace", "Pods of namespace " + ns + " are admitted. " + a.Token(), unknown})
		}
		out = append(out, shown{"ingress, monitoring", "", "HyperShift's own policies admit pods of the ingress and of monitoring. " + a.Token(), unknown})
		for _, account := range a.Accounts {
			out = append(out, shown{account, "its token is asked for", a.Token(), unknown})
		}
	}
	switch {
	case a.LoadBalancersOnOtherNetwork:
		out = append(out, shown{"load balancers", "elsewhere", a.Balanced(), unknown})
	case a.LoadBalancers != nil && len(a.LoadBalancers) == 0:
		out = append(out, shown{"load balancers", "none yet", a.Balanced(), unknown})
	case a.LoadBalancers != nil:
		out = append(out, shown{"anyone", "through load balancers", a.Balanced(), unknown})
	}
	return out
}

// opensOf returns the addresses that callers dial, with the destinations behind each.
func opensOf(a *status.Access) (out []port) {
	if a == nil {
		return nil
	}
	if a.Proxy != "" {
		p := port{Address: a.Proxy}
		for _, d := range a.Destinations {
			x := path{Names: []string{d.Name}, Backend: shown{Name: d.Target, Why: "The edge dials it from its edge address.", State: unknown}}
			if d.PlainTCP != "" {
				x.Names = append(x.Names, "plain TCP "+d.PlainTCP[strings.LastIndex(d.PlainTCP, ":"):])
			}
			p.Paths = append(p.Paths, x)
		}
		out = append(out, p)
	}
	for _, b := range a.LoadBalancers {
		target := shown{Name: "VMs with a DHCP lease", Why: "Edges dial the same port of a VM that accepts.", State: stateOfAnswer(b.ForwardsToEdges)}
		if b.ForwardsToEdges == explain.No {
			target.Note = "NOT YET"
			target.Why = "The Service does not forward to edges yet."
		}
		out = append(out, port{Address: "load balancer " + b.HostedName() + ", Service " + b.Service,
			Paths: []path{{Names: []string{"node port " + status.Joined(b.Ports)}, Backend: target}}})
	}
	return out
}

func refusedTo(a *status.Access) []string {
	if a == nil || a.Proxy == "" {
		return nil
	}
	return []string{"Any other destination of callers: edges answer 403 and dial nothing."}
}
