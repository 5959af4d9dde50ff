// This file shows which images the operator and its edges run on a testbed.

package e2e

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/testbed/cluster"
)

func TestManifestsRunThisCheckout(t *testing.T) {
	g := NewWithT(t)
	manifest, err := Manifests("../../../config/default")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(manifest)).NotTo(ContainSubstring("ghcr.io/"), "an image of a registry that is not asked here")
	g.Expect(string(manifest)).NotTo(ContainSubstring("docker.io/"))
	g.Expect(bytes.Count(manifest, []byte(cluster.OooiImage))).To(Equal(1))
	g.Expect(bytes.Count(manifest, []byte(cluster.EdgeImage))).To(Equal(1))
	g.Expect(bytes.Count(manifest, []byte(cluster.EnvoyImage))).To(Equal(1))
}
