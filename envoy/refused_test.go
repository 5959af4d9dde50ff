package envoy

import (
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/network"
)

// moved is blue, with OAuth's name at the ingress and without the backend of OAuth.
func moved() network.Network {
	n := blue()
	n.Backends = []network.Backend{api, ingress}
	n.Listeners[0].Forwards = []network.Forward{
		{ServerNames: []string{"oauth.blue.example.com", "console.blue.example.com", "*.apps.blue.example.com"}, Backend: ingress.Name},
	}
	return n
}

// TestWhatEnvoyRefusesBreaksNothing: Envoy rejects a listener or a cluster of a change. New connections to the previous names still work,
// and Envoy accepts the next valid change.
func TestWhatEnvoyRefusesBreaksNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(resources.Resources)
		why   string
		says  string
	}{
		"a listener": {func(r resources.Resources) {
			l := r.Listeners[onVLAN+":443"]
			twice := proto.CloneOf(l.FilterChains[0])
			twice.Name = "twice"
			l.FilterChains = append(l.FilterChains, twice)
		}, "Envoy rejected listeners: ", `^\[\{listener 192.168.100.3:443 .*filter chain 'twice' has the same matching rules`},
		"a cluster": {func(r resources.Resources) {
			bad := network.Backend{Name: "spoiled:443", Port: 443}
			more := resources.New(network.Network{Backends: []network.Backend{bad}, Listeners: []network.Listener{{Address: service, Port: 443, Default: bad.Name}}}, resources.Options{}, nil)
			more.Clusters[bad.Name].ConnectTimeout = durationpb.New(-time.Second)
			maps.Copy(r.Clusters, more.Clusters)
			maps.Copy(r.Endpoints, more.Endpoints)
			r.Listeners[onVLAN+":443"].DefaultFilterChain = more.Listeners[onVLAN+":443"].DefaultFilterChain
		}, "Envoy rejected clusters: ", `^\[\{cluster spoiled:443 .*Invalid duration`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t)
			w.serves(t, blue(), pods())
			bad := resources.New(moved(), w.options(), pods())
			c.spoil(bad)
			w.server.Serve(bad)
			g.Eventually(w.server.Accepted, patient).Should(MatchError(ContainSubstring(c.why)))
			g.Eventually(func() string { return fmt.Sprint(w.server.Refusals()) }, patient).Should(MatchRegexp(c.says))
			for range 20 {
				u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
				g.Expect(err).NotTo(HaveOccurred(), "the listener in force names this cluster")
				g.Expect(u.hello).To(HavePrefix("oauth"))
			}
			g.Expect(w.counter(t, "cluster_manager.cluster_removed")).To(Equal("0"))

			w.serves(t, moved(), pods())
			u, err := w.dial(t, onVLAN+":443", "oauth.blue.example.com")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(u.hello).To(HavePrefix("ingress"))
		})
	}
}
