// This file holds that drift prints what touches oooi, and nothing else.

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/host"
)

// TestDrift: a field, a name, an image, a port and a Route are printed if they change. A function that moved, a comment and another
// platform are not.
func TestDrift(t *testing.T) {
	g := NewWithT(t)
	root, err := host.ProjectDir()
	g.Expect(err).NotTo(HaveOccurred())
	api := t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(api, "hypershift"), 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(api, "hypershift", "types.go"), []byte("const (\n\tKonnectivity ServiceType = \"Konnectivity\"\n)\n"), 0o600)).To(Succeed())
	r, err := readIn(root, api)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.fields).To(ContainElements("hostedcluster.spec.services.servicePublishingStrategy.type", "nodepool.spec.clusterName"))

	definition := func(kind, dns string) string {
		return "spec: {versions: [{schema: {openAPIV3Schema: {properties: {spec: {properties: {dns: {properties: {" + dns + "}}}}}}}}]}"
	}
	before := tree{
		"assets/zz_generated.crd-manifests/hostedclusters-Default.crd.yaml": definition("HostedCluster", "baseDomain: {type: string, description: old}"),
		"assets/zz_generated.crd-manifests/nodepools-Default.crd.yaml":      definition("NodePool", ""),
		"old/kas.go": "package kas\n\nfunc Ports() {\n\tstrategy(hyperv1.Konnectivity)\n\tserve(hc.Spec.DNS.BaseDomain)\n\tKASPort := 6443\n}\n",
	}
	after := tree{
		"assets/zz_generated.crd-manifests/hostedclusters-Hypershift-Default.crd.yaml": definition("HostedCluster", "baseDomain: {type: string, maxLength: 9, description: new}, zone: {type: string}"),
		"assets/zz_generated.crd-manifests/nodepools-Default.crd.yaml":                 definition("NodePool", ""),
		"new/kas.go": "package kas\n\nfunc Ports() {\n\tstrategy(hyperv1.Konnectivity) // as before\n\tother()\n\tKASPort := 443\n" +
			"\timage := GetImage(\"haproxy-router\")\n\tkey := \"hypershift.openshift.io/new\"\n}\n",
		"assets/metrics/route.yaml": "kind: Route\nmetadata: {name: metrics}\n",
	}
	var out strings.Builder
	g.Expect(compare(&out, r, before, after)).To(Succeed())
	g.Expect(out.String()).To(And(
		ContainSubstring("hostedcluster.spec.dns.baseDomain\n  - {\"type\":\"string\"}\n  + {\"maxLength\":9,\"type\":\"string\"}\n"),
		ContainSubstring("hostedcluster.spec.dns.zone is new: {\"type\":\"string\"}\n"),
		ContainSubstring("- old/kas.go:5 Ports: serve(hc.Spec.DNS.BaseDomain)\n"),
		ContainSubstring("- old/kas.go:6 Ports: KASPort := 6443\n"),
		ContainSubstring("+ new/kas.go:6 Ports: KASPort := 443\n"),
		ContainSubstring("+ new/kas.go:7 Ports: GetImage(\"haproxy-router\""),
		ContainSubstring("+ new/kas.go:8 Ports: \"hypershift.openshift.io/new\"\n"),
		ContainSubstring("+ assets/metrics/route.yaml:2 metrics/route.yaml: metadata: {name: metrics}\n"),
		Not(ContainSubstring("hyperv1.Konnectivity")), Not(ContainSubstring("other()")), Not(ContainSubstring("nodepool.")),
	))
}
