package settings_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// TestEveryExampleIsAccepted: what the documentation shows works wherever it may
// stand, and is said to have no effect elsewhere.
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
				g.Expect(problems[0].Reason).To(Equal(network.AnnotationUnknown))
				g.Expect(problems[0].Detail).To(ContainSubstring("it may stand on " + k.On.String()))
			})
		}
	}
}

// TestWrongPublications are those of a Service's annotation.
func TestWrongPublications(t *testing.T) {
	for _, v := range []string{"", "git.example.com", "git:443", "10.0.0.1:443", "git.example.com:https", "git.example.com:70000", "git.example.com:443;x.example.com:80"} {
		t.Run(v, func(t *testing.T) {
			g := NewWithT(t)
			problems := settings.Check("Service", "git", map[string]string{settings.Prefix + "publish": v})
			g.Expect(problems.Blocking()).To(BeTrue(), "accepted")
			g.Expect(problems[0].Field).To(Equal("Service git " + settings.Prefix + "publish"))
			g.Expect(problems[0].Detail).To(ContainSubstring("want"))
		})
	}
}

// TestRenamedKeyIsRefused: what an earlier version allowed is not dropped in
// silence.
func TestRenamedKeyIsRefused(t *testing.T) {
	g := NewWithT(t)
	problems := settings.Check("HostedCluster", "blue", map[string]string{settings.Prefix + "registries": "auto,git.example.com"})
	g.Expect(problems).To(HaveLen(1))
	g.Expect(problems[0].Reason).To(Equal(network.AnnotationInvalid))
	g.Expect(problems.Blocking()).To(BeTrue())
	g.Expect(problems[0].Detail).To(ContainSubstring("renamed to " + settings.Prefix + "allowed-hosts"))
}

func TestInClusterRegistryIsSentToPublish(t *testing.T) {
	g := NewWithT(t)
	problems := settings.Check("HostedCluster", "blue", map[string]string{settings.Prefix + "allowed-hosts": "auto,mirror.registries.svc:5000"})
	g.Expect(problems[0].Detail).To(ContainSubstring(settings.Prefix + "publish"))
}

// TestMisspeltKeysElsewhere: "did you mean" knows what may stand where.
func TestMisspeltKeysElsewhere(t *testing.T) {
	g := NewWithT(t)
	said := func(kind, key string) string {
		return settings.Check(kind, "x", map[string]string{settings.Prefix + key: "1"})[0].Detail
	}
	g.Expect(said("Service", "publsh")).To(HaveSuffix("Did you mean " + settings.Prefix + "publish?"))
	g.Expect(said("HostedCluster", "publsh")).NotTo(ContainSubstring("Did you mean"))
	g.Expect(said("NetworkAttachmentDefinition", "cdir")).To(HaveSuffix("Did you mean " + settings.Prefix + "cidr?"))
	g.Expect(said("NodePool", "cidr.workers")).To(HaveSuffix("there is no such annotation here."))
	g.Expect(settings.Check("Service", "x", map[string]string{"example.com/publsh": "1"})).To(BeEmpty())
}
