package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// TestEveryExampleIsAccepted checks that each documented example is valid on the
// objects of its row, and has no effect on other objects.
func TestEveryExampleIsAccepted(t *testing.T) {
	places := settings.Places{settings.OnHostedCluster, settings.OnNodePool, settings.OnNetworkAttachmentDefinition, settings.OnService}
	for _, k := range settings.Keys() {
		for _, at := range places {
			t.Run(k.Name+" on "+string(at), func(t *testing.T) {
				g := NewWithT(t)
				problems := settings.Check(string(at), "blue", map[string]string{settings.Prefix + k.Name: k.Example})
				if slices.Contains(k.On, at) {
					g.Expect(problems).To(BeEmpty())
					return
				}
				g.Expect(problems).To(HaveLen(1))
				g.Expect(problems[0].Reason).To(Equal(problem.AnnotationUnknown))
				g.Expect(message(problems[0])).To(ContainSubstring("Set it on one of: " + k.On.String()))
			})
		}
	}
}

// TestNetworksHaveTheirValues checks that the request of a network has the value of each key that networks have.
func TestNetworksHaveTheirValues(t *testing.T) {
	for _, k := range settings.Keys() {
		if k.For == settings.WholeCluster {
			continue
		}
		v, problems := settings.Overlay(settings.Values{}, k.On[0], "blue", map[string]string{settings.Prefix + k.Name: k.Example})
		var r network.NetworkRequest
		v.SetNetwork(&r)
		g := NewWithT(t)
		g.Expect(problems).To(BeEmpty())
		g.Expect(k.IsSet(v)).To(BeTrue(), k.Name)
		g.Expect(settings.OfNetwork(r)).To(Equal(v), k.Name)
	}
}

// TestListsHaveALimit: a list has at most 64 entries. Longer ones are choices of few words, and lists that need an entry for each
// VM or each hosted cluster.
func TestListsHaveALimit(t *testing.T) {
	g := NewWithT(t)
	var longer []string
	for _, k := range settings.Keys() {
		for _, example := range []string{k.Example, "192.168.100.1"} {
			all := []string{example}
			for i := range 64 {
				one := example
				if k.Name == network.KeyEdgeNodeSelector {
					one = fmt.Sprintf("l%d=", i)
				}
				all = append(all, one)
			}
			if len(settings.Check(string(k.On[0]), "blue", map[string]string{settings.Prefix + k.Name: strings.Join(all, ",")})) == 0 {
				longer = append(longer, k.Name)
			}
		}
	}
	g.Expect(longer).To(Equal([]string{network.KeyServices, network.KeyReservations, network.KeyNamespaces}))
}

// TestInvalidPublish checks invalid values of a Service's annotation publish.
func TestInvalidPublish(t *testing.T) {
	for _, v := range []string{"", "git.example.com", "git:443", "10.0.0.1:443", "git.example.com:https", "git.example.com:70000", "git.example.com:443;x.example.com:80"} {
		t.Run(v, func(t *testing.T) {
			g := NewWithT(t)
			problems := settings.Check("Service", "git", map[string]string{settings.Prefix + "publish": v})
			g.Expect(problems.Blocking()).To(BeTrue(), "accepted")
			g.Expect(problems[0].Subject.String() + " " + problems[0].Keys[0]).To(Equal("Service git publish"))
			g.Expect(message(problems[0])).To(ContainSubstring(". Set "))
		})
	}
}

// TestInClusterRegistryNamesPublish checks that the message names the annotation
// that publishes a Service.
func TestInClusterRegistryNamesPublish(t *testing.T) {
	g := NewWithT(t)
	problems := settings.Check("HostedCluster", "blue", map[string]string{settings.Prefix + "allowed-hosts": "auto,mirror.registries.svc:5000"})
	g.Expect(message(problems[0])).To(ContainSubstring("annotation publish"))
}

// TestSuggestedKeys: "Did you mean" only suggests keys that have an effect on the object.
func TestSuggestedKeys(t *testing.T) {
	g := NewWithT(t)
	text := func(kind, key string) string {
		return message(settings.Check(kind, "x", map[string]string{settings.Prefix + key: "1"})[0])
	}
	g.Expect(text("Service", "publsh")).To(HaveSuffix("Did you mean publish?"))
	g.Expect(text("HostedCluster", "publsh")).NotTo(ContainSubstring("Did you mean"))
	g.Expect(text("HostedCluster", "a")).NotTo(ContainSubstring("Did you mean"), "no letter is that of mtu")
	g.Expect(text("NetworkAttachmentDefinition", "cdir")).To(HaveSuffix("Did you mean cidr?"))
	g.Expect(text("NodePool", "cidr.workers")).To(ContainSubstring("does not exist and has no effect."))
	g.Expect(settings.Check("Service", "x", map[string]string{"example.com/publsh": "1"})).To(BeEmpty())
}

// TestAdviceFitsTheSetting: a value that a message tells the user to set is valid for that annotation, even if only a part of the previous
// value was wrong.
func TestAdviceFitsTheSetting(t *testing.T) {
	for _, k := range settings.Keys() {
		for _, r := range k.Requirements() {
			_, example, ok := strings.Cut(r.Args["want"].String(), "such as ")
			if !ok {
				continue
			}
			example, _, _ = strings.Cut(example, ", ")
			for _, p := range settings.Check(string(k.On[0]), "blue", map[string]string{settings.Prefix + k.Name: example}) {
				t.Errorf("%s: %q: %s", k.Name, example, message(p))
			}
		}
	}
	g := NewWithT(t)
	for value, advice := range map[string]string{"dhcp-range=192.168.100.0/25": "Set first-last such as ", "reservations=02:00:00:00:00:01=x": "Set MAC=address such as ", "dns-records=a.example.com=x": "Set name=address such as "} {
		key, value, _ := strings.Cut(value, "=")
		g.Expect(message(settings.Check("HostedCluster", "blue", map[string]string{settings.Prefix + key: value})[0])).To(ContainSubstring(advice))
	}
}
