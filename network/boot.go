// This file has the steps by which a new VM becomes a node, as far as edges see them.

package network

import "slices"

// A BootStep is one step of a VM that boots for the first time.
type BootStep string

// The steps, in their order.
const (
	// BootDiscover: the VM sends its first DHCPDISCOVER.
	BootDiscover BootStep = "discover"
	// BootLease: it has a lease.
	BootLease BootStep = "lease"
	// BootName: a DNS question for the name of Ignition comes from its address.
	BootName BootStep = "name"
	// BootIgnition, BootAPI and BootKonnectivity: it has a connection to a pod of that service.
	BootIgnition     BootStep = "ignition"
	BootAPI          BootStep = "api"
	BootKonnectivity BootStep = "konnectivity"
)

// AllBootSteps returns all steps in their order.
func AllBootSteps() []BootStep {
	return []BootStep{BootDiscover, BootLease, BootName, BootIgnition, BootAPI, BootKonnectivity}
}

// SeenBy returns the server of an edge that sees the step.
func (s BootStep) SeenBy() Service {
	switch s {
	case BootName:
		return ServiceDNS
	case BootIgnition, BootAPI, BootKonnectivity:
		return ServiceProxy
	}
	return ServiceDHCP
}

// BootSteps returns the steps that edges of n see, in their order. The last one ends the boot. None: no VM boots from n,
// or edges do not assign its addresses.
func (n Network) BootSteps() (out []BootStep) {
	if !n.Primary || !n.Runs(ServiceDHCP) {
		return nil
	}
	for _, s := range AllBootSteps() {
		connects := s.SeenBy() == ServiceProxy
		published := slices.ContainsFunc(n.Backends, func(b Backend) bool { return b.BootStep() == s })
		if n.Runs(s.SeenBy()) && (!connects || published) && (s != BootName || len(n.IgnitionNames()) > 0) {
			out = append(out, s)
		}
	}
	return out
}

// BootStep returns the step that a connection to b is. Empty: none.
func (b Backend) BootStep() BootStep {
	if b.Kind != BackendPods {
		return ""
	}
	switch b.Service {
	case IgnitionService:
		return BootIgnition
	case APIService:
		return BootAPI
	case KonnectivityService:
		return BootKonnectivity
	}
	return ""
}

// BootStepOf returns the step that a connection to the backend of this name is. Empty: none.
func (n Network) BootStepOf(backend string) BootStep {
	i := slices.IndexFunc(n.Backends, func(b Backend) bool { return b.Name == backend })
	if i < 0 {
		return ""
	}
	return n.Backends[i].BootStep()
}

// IgnitionNames returns the names that VMs ask for to reach Ignition. None: Ignition is published at a bare IP.
func (n Network) IgnitionNames() (out []string) {
	for _, l := range n.Listeners {
		for _, f := range l.Forwards {
			if n.BootStepOf(f.Backend) == BootIgnition {
				out = append(out, f.ServerNames...)
			}
		}
	}
	return out
}
