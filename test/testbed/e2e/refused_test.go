// This file shows what is reported about a hosted cluster that cannot be served, and that
// nothing is applied for it.

package e2e

import (
	"net/netip"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/test/testbed/hypershift"
)

// A refusal is a hosted cluster that oooi can't serve.
type refusal struct {
	name    string
	options hypershift.HostedClusterOptions
	reason  string
	says    []string // what the message must name for its reader to act
}

func refusals(b bed) []refusal {
	return []refusal{
		{
			"missing-nad", hypershift.HostedClusterOptions{Networks: []string{"clusters/not-there"}, Annotations: map[string]string{Annotation: "auto"}},
			"NetworkMissing", []string{"clusters/not-there"},
		},
		{
			"elsewhere", hypershift.HostedClusterOptions{VLAN: 222, Annotations: map[string]string{Annotation: "auto"},
				Flags: []string{"--infra-kubeconfig-file=" + b.cluster.Kubeconfig(), "--infra-namespace=elsewhere"}},
			"ExternalInfrastructure", []string{"another cluster", "network"},
		},
	}
}

// testDenied expects that a HostedCluster with an annotation that can never work is not created, and
// that the CLI prints why.
func testDenied(t *testing.T, b bed) {
	err := b.hypershift.Create(t.Context(), hypershift.HostedClusterOptions{
		Name: "wrong-annotation", Strategy: hypershift.NodePort, Mini: true, BaseDomain: "example.com", VLAN: 221,
		MachineCIDR: netip.MustParsePrefix("192.168.100.0/24"), Annotations: map[string]string{Annotation: "yes please"},
	})
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(Annotation), ContainSubstring("yes please"), ContainSubstring("auto"))))
}

func testRefused(t *testing.T, b bed, r refusal) {
	g := NewWithT(t)
	o := r.options
	o.Name, o.Strategy, o.Mini, o.Replicas, o.BaseDomain = r.name, hypershift.NodePort, true, 0, "example.com"
	o.MachineCIDR = netip.MustParsePrefix("192.168.100.0/24")
	h, _ := b.create(t, o)
	g.Eventually(func() (meta.Condition, error) { return h.Condition(t.Context()) }).
		WithPolling(time.Second).
		Should(And(HaveField("Status", meta.ConditionFalse), HaveField("Reason", r.reason)), Condition)
	c, err := h.Condition(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	for _, word := range r.says {
		g.Expect(c.Message).To(ContainSubstring(word))
	}
	t.Log(c.Message)
	g.Expect(h.Owned(t.Context())).To(BeEmpty(), "nothing is applied")
	b.destroy(h)
}
