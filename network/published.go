// This file has the table of the services that HyperShift publishes and VMs need.

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

// Needs, the least first.
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
