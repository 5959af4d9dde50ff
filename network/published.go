// This file has the table of the services that HyperShift publishes and VMs need, and the steps of a new VM up to their
// use.

package network

import "slices"

// Names of HyperShift's Services in the control plane namespace that VMs need.
const (
	APIService          = "kube-apiserver"
	KonnectivityService = "konnectivity-server"
	IgnitionService     = "ignition-server-proxy"
	OAuthService        = "oauth-openshift"
)

// A Need says how much nodes depend on a service.
type Need int

const (
	// NeedNone: nodes become a working part of their cluster without it.
	NeedNone Need = iota
	// NeedJoin: nodes become Ready without it. Their API server does not reach them, so they are not a working part of
	// their cluster.
	NeedJoin
	// NeedBoot: no new node boots without it.
	NeedBoot
)

// A PublishedService is one of spec.services of a HostedCluster.
type PublishedService struct {
	// Type is its name in spec.services: "APIServer".
	Type string
	// Endpoint is the Name of its Endpoint, and of its Route with strategy Route.
	Endpoint string
	// Service is the name of the Service with its pods.
	Service string
	// Title is its name for people.
	Title string
	// Need says how much nodes depend on it.
	Need Need
	// Effect is what happens without the service, as a clause.
	Effect string
}

// PublishedServices returns the table.
func PublishedServices() []PublishedService {
	return []PublishedService{
		{"APIServer", "kube-apiserver", APIService, "API server", NeedBoot, "nodes cannot boot"},
		{"Ignition", "ignition-server", IgnitionService, "Ignition", NeedBoot, "new nodes cannot boot"},
		{"Konnectivity", "konnectivity-server", KonnectivityService, "konnectivity", NeedJoin, "kubectl logs and exec fail"},
		{"OAuthServer", "oauth", OAuthService, "OAuth", NeedNone, "logins fail"},
	}
}

// PublishedAt returns the published service with this Endpoint, or the zero value.
func PublishedAt(endpoint string) PublishedService {
	return published(func(s PublishedService) bool { return s.Endpoint == endpoint })
}

// PublishedBy returns the published service with this Service, or the zero value.
func PublishedBy(service string) PublishedService {
	return published(func(s PublishedService) bool { return s.Service == service })
}

func published(is func(PublishedService) bool) PublishedService {
	all := PublishedServices()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return PublishedService{}
}

// A BootStep is one step of a VM that boots for the first time.
type BootStep string

// The steps, in their order.
const (
	// BootDiscover: the VM sends its first DHCPDISCOVER.
	BootDiscover BootStep = "discover"
	// BootLease: the VM has a lease.
	BootLease BootStep = "lease"
	// BootName: a DNS query for the name of Ignition comes from the VM's address.
	BootName BootStep = "name"
	// BootIgnition, BootAPI and BootKonnectivity: the VM has a connection to a pod of that service.
	BootIgnition     BootStep = "ignition"
	BootAPI          BootStep = "api"
	BootKonnectivity BootStep = "konnectivity"
)

// AllBootSteps returns the steps in their order.
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

// BootSteps returns the steps that edges of n see, in their order. The last one ends the boot. It returns nil if no VM
// boots from n, or if edges do not assign the addresses of n.
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

// BootStep returns the step that a connection to b is, or "" if the connection is not a step.
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

// BootStepOf returns the step that a connection to the backend of this name is, or "" if the connection is not a step.
func (n Network) BootStepOf(backend string) BootStep {
	i := slices.IndexFunc(n.Backends, func(b Backend) bool { return b.Name == backend })
	if i < 0 {
		return ""
	}
	return n.Backends[i].BootStep()
}

// IgnitionNames returns the names that VMs resolve to reach Ignition. It returns nil if Ignition is published at a bare IP.
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
