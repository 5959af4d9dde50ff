// This file shows what VMs notice while the Operator Lifecycle Manager installs the operator, upgrades it and removes it:
// no more than of an edge that is replaced. It also shows that everything is deleted in the end, in the order of
// docs/install.md.

package e2e

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apps "k8s.io/api/apps/v1"
	coordination "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/olm"
)

// A subscribed is an operator that the Operator Lifecycle Manager installs in one version and upgrades to the next.
type subscribed struct {
	*olm.OLM
	catalog, newCatalog olm.Catalog
}

// newSubscribed builds everything, so that nothing else is on the machine while gaps are measured.
func newSubscribed(t *testing.T, c *cluster.Cluster) subscribed {
	t.Helper()
	g := NewWithT(t)
	var o subscribed
	o.OLM, o.catalog = newCatalog(t, c)
	parsed, err := version.ParseSemantic(o.catalog.Version)
	g.Expect(err).NotTo(HaveOccurred())
	o.newCatalog, err = o.Build(t.Context(), parsed.WithPatch(parsed.Patch()+1).String(), o.catalog.Version)
	g.Expect(err).NotTo(HaveOccurred())
	return o
}

// newCatalog starts the Operator Lifecycle Manager, and builds a catalog with the version of this checkout.
func newCatalog(t *testing.T, c *cluster.Cluster) (*olm.OLM, olm.Catalog) {
	t.Helper()
	g := NewWithT(t)
	first, err := olm.Version()
	g.Expect(err).NotTo(HaveOccurred())
	manager, err := olm.Install(t.Context(), c, os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	catalog, err := manager.Build(t.Context(), first, "")
	g.Expect(err).NotTo(HaveOccurred())
	return manager, catalog
}

// testOLM needs an operator that kustomize has installed, and leaves none. Each row needs the one before.
func testOLM(t *testing.T, s *stage) {
	o := newSubscribed(t, s.cluster)
	other := newcomer(t, s.bed)
	s.measureQuiet(t) // The newcomer's control plane starts now.
	table := newTable(s)
	for _, f := range []fault{
		{name: "kustomize's operator deleted", planned: true, do: deleteOperator},
		{name: "installed by OLM", planned: true, cuts: 1, onLongest: true, do: o.install(other)},
		{name: "upgraded by OLM", planned: true, cuts: 1, onLongest: true, do: o.upgrade},
		{name: "uninstalled by OLM", planned: true, cuts: 1, do: o.uninstall},
	} {
		if !t.Run(f.name, func(t *testing.T) { table.add(f.name, judged(t, s, f)) }) {
			return
		}
	}
	table.print(t)
	t.Run("hosted cluster deleted", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(s.hypershift.Destroy(t.Context(), other.Name)).To(Succeed(), "without an operator")
		b := s.bed
		b.deletions = &deletions{}
		b.destroy(s.hosted)
		testDeletions(t, b)
	})
	t.Run("namespace deleted", func(t *testing.T) {
		uninstalled(t, s.cluster, o.commands(t)[2:])
		testNothingLeft(t, s.cluster)
	})
}

// testNothingLeft expects that no cluster-scoped object speaks of the operator any more.
func testNothingLeft(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	NewWithT(t).Eventually(func() ([]string, error) { return clusterScoped(t.Context(), c) }).WithPolling(time.Second).
		Should(ConsistOf("Operator/oooi."+Namespace), "only the record that the Operator Lifecycle Manager itself keeps")
}

// newcomer is a hosted cluster that is not opted in yet.
func newcomer(t *testing.T, b bed) Hosted {
	t.Helper()
	h, _ := b.create(t, hypershift.HostedClusterOptions{
		Name: "newcomer", Strategy: hypershift.NodePort, BaseDomain: "example.com", VLAN: 233, Mini: true,
		MachineCIDR: netip.MustParsePrefix("192.168.100.0/24"),
	})
	return h
}

// deleteOperator is `kubectl delete -k config/default`.
func deleteOperator(t *testing.T, s *stage, m *measure.Measurement, _ edgePod) {
	g := NewWithT(t)
	before := s.pods(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := Manifests(filepath.Join(root, "config", "default"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s.cluster.Delete(t.Context(), manifest)).To(Succeed())
	s.renewed(t)
	quiet(t, m, 3*time.Second)
	g.Expect(names(s.pods(t))).To(Equal(names(before)), "no edge is recreated")
}

// install has the operator installed from a catalog's image. It serves the hosted cluster that was served before, and
// another one.
func (o subscribed) install(other Hosted) func(*testing.T, *stage, *measure.Measurement, edgePod) {
	return func(t *testing.T, s *stage, m *measure.Measurement, edge edgePod) {
		g := NewWithT(t)
		o.roll(t, s, o.catalog, edge)
		s.operated(t)
		g.Expect(s.hosted.WaitReady(t.Context())).To(Succeed())
		g.Expect(other.Annotate(t.Context(), "auto")).To(Succeed())
		g.Expect(other.WaitEdges(t.Context())).To(Succeed())
		quiet(t, m, 2*time.Second)
	}
}

func (o subscribed) upgrade(t *testing.T, s *stage, m *measure.Measurement, edge edgePod) {
	o.roll(t, s, o.newCatalog, edge)
	s.operated(t)
	quiet(t, m, 2*time.Second)
}

// roll has the Operator Lifecycle Manager install the catalog's newest version, and expects that the edges follow, one
// after the other.
func (o subscribed) roll(t *testing.T, s *stage, catalog olm.Catalog, edge edgePod) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(o.Subscribe(t.Context(), catalog, Namespace)).To(Succeed())
	var d apps.Deployment
	g.Expect(s.hosted.Client.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: "oooi"}, &d)).To(Succeed())
	s.rolled(t, edge, variable(d, "RELATED_IMAGE_EDGE"))
}

// uninstall deletes the Subscription and the operator's ClusterServiceVersion. An edge that is lost later comes back, and
// VMs renew their leases.
func (o subscribed) uninstall(t *testing.T, s *stage, m *measure.Measurement, edge edgePod) {
	g := NewWithT(t)
	before := s.pods(t)
	uninstalled(t, s.cluster, o.commands(t)[:2])
	g.Eventually(func() (string, error) {
		out, err := s.cluster.Kubectl(t.Context(), "-n", Namespace, "get", "deployments", "-o", "name")
		return string(out), err
	}).WithPolling(200 * time.Millisecond).Should(BeEmpty())
	quiet(t, m, 3*time.Second)
	g.Expect(names(s.pods(t))).To(Equal(names(before)), "no edge is recreated")
	deletePod(t, s, m, edge)
	s.renewed(t)
}

// commands are those of the page, for the version that is installed last.
func (o subscribed) commands(t *testing.T) [][]string {
	t.Helper()
	all := kubectlLines(t, "install.md", "With OLM:")
	for _, args := range all {
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "v"+o.catalog.Version, "v"+o.newCatalog.Version)
		}
	}
	return all
}

// uninstalled runs commands of docs/install.md.
func uninstalled(t *testing.T, c *cluster.Cluster, commands [][]string) {
	t.Helper()
	for _, args := range commands {
		_, err := c.Kubectl(t.Context(), args...)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), "kubectl %v", args)
	}
}

// renewed waits until an edge has recorded a lease that was renewed after this call.
func (s *stage) renewed(t *testing.T) {
	t.Helper()
	now := time.Now()
	NewWithT(t).Eventually(func() ([]coordination.Lease, error) { return s.hosted.Leases(t.Context()) }).WithPolling(time.Second).
		Should(ContainElement(Satisfy(func(l coordination.Lease) bool { return l.Spec.RenewTime != nil && l.Spec.RenewTime.After(now) })), "a lease that is renewed")
}

// clusterScoped are the cluster-scoped objects whose metadata speaks of the operator, as kind/name: their names, labels,
// owners or writers. Those of the testbed have the prefix testbed.oooi.
func clusterScoped(ctx context.Context, c *cluster.Cluster) ([]string, error) {
	kinds, err := c.Kubectl(ctx, "api-resources", "--namespaced=false", "--verbs=list", "-o", "name")
	if err != nil {
		return nil, err
	}
	out, err := c.Kubectl(ctx, "get", strings.Join(strings.Fields(string(kinds)), ","), "-o", "json", "--show-managed-fields")
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Kind     string          `json:"kind"`
			Metadata json.RawMessage `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, err
	}
	var found []string
	for _, i := range list.Items {
		var metadata struct{ Name string }
		if err := json.Unmarshal(i.Metadata, &metadata); err != nil {
			return nil, err
		}
		if strings.Contains(strings.ReplaceAll(string(i.Metadata), "testbed.oooi", ""), "oooi") {
			found = append(found, i.Kind+"/"+metadata.Name)
		}
	}
	slices.Sort(found)
	return found, nil
}
