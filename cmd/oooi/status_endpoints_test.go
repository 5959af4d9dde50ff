package main

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sliceOf is the EndpointSlice of a Service with one unnamed port, and with these addresses.
func sliceOf(service string, addresses ...string) *discoveryv1.EndpointSlice {
	port := int32(443)
	out := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "clusters-blue", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, a := range addresses {
		out.Endpoints = append(out.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return out
}

// TestStatusHealth: that no edge reports a fault says nothing of a backend whose endpoints are unknown, and one
// without endpoints has a fault.
func TestStatusHealth(t *testing.T) {
	yes, no, name := true, false, "https"
	one := func(change func(s *discoveryv1.EndpointSlice)) []discoveryv1.EndpointSlice {
		s := sliceOf("ignition-server-proxy", "10.0.0.9")
		change(s)
		return []discoveryv1.EndpointSlice{*s}
	}
	conditions := func(c discoveryv1.EndpointConditions) []discoveryv1.EndpointSlice {
		return one(func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions = c })
	}
	for what, c := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		health string
	}{
		"an endpoint":                 {one(func(*discoveryv1.EndpointSlice) {}), noFault},
		"no EndpointSlice":            {nil, "unknown"},
		"that of another Service":     {[]discoveryv1.EndpointSlice{*sliceOf("other", "10.0.0.9")}, "unknown"},
		"no endpoint":                 {[]discoveryv1.EndpointSlice{*sliceOf("ignition-server-proxy")}, "its Service has no endpoint"},
		"in one of two":               {append(one(func(*discoveryv1.EndpointSlice) {}), *sliceOf("ignition-server-proxy")), noFault},
		"of IPv6":                     {one(func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }), noEndpoint},
		"of another port":             {one(func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = &name }), noEndpoint},
		"not ready, which edges dial": {conditions(discoveryv1.EndpointConditions{Ready: &no}), noFault},
		"that ends and serves":        {conditions(discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}), noFault},
		"that ends":                   {conditions(discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}), noEndpoint},
	} {
		t.Run(what, func(t *testing.T) {
			f := blueFacts()
			f.slices = c.slices
			NewWithT(t).Expect(reportOf(f, statusAt).Networks[0].Endpoints[0].Health).To(Equal(c.health))
		})
	}
	f := blueFacts()
	for name, r := range f.reports {
		r.RefusedHosts = nil
		f.reports[name] = r
	}
	NewWithT(t).Expect(reportOf(f, statusAt).Networks[0].Hosts[0].Health).To(Equal("unknown"), "addresses of external hosts are not reported")
}
