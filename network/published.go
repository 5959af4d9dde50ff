// This file has the table of the services that HyperShift publishes and VMs need.

package network

import "slices"

// Names of HyperShift's Services in the control plane namespace, whose pods serve what VMs need.
const (
	APIService          = "kube-apiserver"
	KonnectivityService = "konnectivity-server"
	IgnitionService     = "ignition-server-proxy"
	OAuthService        = "oauth-openshift"
)

// A PublishedService is one of spec.services of a HostedCluster.
type PublishedService struct {
	// Type is its name in spec.services: "APIServer".
	Type string
	// Endpoint is the Name of its Endpoint, and of its Route with strategy Route.
	Endpoint string
	// Service is that of its pods.
	Service string
	// Title is its name for people.
	Title string
	// Needed: no node becomes a working part of its cluster without it.
	Needed bool
}

// PublishedServices returns all, those that every cluster has first. A cluster with OIDC has no OAuth server, the last one.
func PublishedServices() []PublishedService {
	return []PublishedService{
		{"APIServer", "kube-apiserver", APIService, "API server", true},
		{"Ignition", "ignition-server", IgnitionService, "Ignition", true},
		{"Konnectivity", "konnectivity-server", KonnectivityService, "konnectivity", true},
		{"OAuthServer", "oauth", OAuthService, "OAuth", false},
	}
}

// PublishedAt returns the published service with this Endpoint. The zero value: none has it.
func PublishedAt(endpoint string) PublishedService {
	return published(func(s PublishedService) bool { return s.Endpoint == endpoint })
}

// PublishedBy returns the published service with this Service. The zero value: none has it.
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
