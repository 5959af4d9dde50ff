package kube_test

import (
	"net/http"
	"net/netip"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/test/golden"
)

// testNamedVMs: an API server that has another name for VirtualMachineInstances. Leases, EndpointSlices and the plan are all
// else that an edge reads and writes, and their names are Kubernetes' own.
func testNamedVMs(t *testing.T, c cluster) {
	g := NewWithT(t)
	for _, wrong := range []string{"", "virtualmachineinstances", ".kubevirt.io"} {
		g.Expect(c.kube(t).NameVMs(wrong)).To(MatchError(ContainSubstring("want PLURAL.GROUP")), wrong)
	}
	var role rbacv1.Role
	golden.Find(t, "lb-ip").Applied(t, "Role oooi-edge", namespace, &role)
	var groups []string
	for _, r := range role.Rules {
		groups = append(groups, r.APIGroups...)
	}
	g.Expect(groups).To(ConsistOf("", "discovery.k8s.io", "kubevirt.io", "coordination.k8s.io"))
	var asked sync.Map
	renamed := c
	renamed.pod = rest.CopyConfig(c.pod)
	renamed.pod.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			asked.Store(r.URL.Path, true)
			return base.RoundTrip(r)
		})
	})
	k := renamed.kube(t)
	g.Expect(k.NameVMs("ivmis.internal.example")).To(Succeed())
	m := k.VMs(t.Context(), netip.MustParsePrefix("192.168.100.0/24"))
	g.Eventually(func() bool {
		_, ok := asked.Load("/apis/internal.example/v1/namespaces/" + namespace + "/ivmis")
		return ok
	}, "1m").Should(BeTrue())
	g.Expect(m.Ready()).NotTo(Succeed(), "this API server does not have them")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
