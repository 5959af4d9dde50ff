package status

import (
	"testing"

	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/cldmnky/oooi/test/blue"
)

// TestStatusHealth: that no edge reports a fault says nothing of a backend whose endpoints are unknown, and one
// without endpoints has a fault.
func TestStatusHealth(t *testing.T) {
	yes, no, name := true, false, "https"
	one := func(change func(s *discoveryv1.EndpointSlice)) []discoveryv1.EndpointSlice {
		s := blue.EndpointSlice("ignition-server-proxy", "10.0.0.9")
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
		"an endpoint":                 {one(func(*discoveryv1.EndpointSlice) {}), "no fault reported"},
		"no EndpointSlice":            {nil, "unknown"},
		"that of another Service":     {[]discoveryv1.EndpointSlice{*blue.EndpointSlice("other", "10.0.0.9")}, "unknown"},
		"no endpoint":                 {[]discoveryv1.EndpointSlice{*blue.EndpointSlice("ignition-server-proxy")}, "its Service has no endpoint"},
		"in one of two":               {append(one(func(*discoveryv1.EndpointSlice) {}), *blue.EndpointSlice("ignition-server-proxy")), "no fault reported"},
		"of IPv6":                     {one(func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }), "its Service has no endpoint"},
		"of another port":             {one(func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = &name }), "its Service has no endpoint"},
		"not ready, which edges dial": {conditions(discoveryv1.EndpointConditions{Ready: &no}), "no fault reported"},
		"that ends and serves":        {conditions(discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}), "no fault reported"},
		"that ends":                   {conditions(discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}), "its Service has no endpoint"},
	} {
		t.Run(what, func(t *testing.T) {
			f := blueFacts()
			f.Slices = c.slices
			NewWithT(t).Expect(OutputOf(f, blue.At).Networks[0].Endpoints[0].Health).To(Equal(c.health))
		})
	}
	f := blueFacts()
	for name, r := range f.Reports {
		r.RefusedHosts = nil
		f.Reports[name] = r
	}
	NewWithT(t).Expect(OutputOf(f, blue.At).Networks[0].Hosts[0].Health).To(Equal("unknown"), "addresses of external hosts are not reported")
}
