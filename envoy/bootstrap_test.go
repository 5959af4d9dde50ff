package envoy

import (
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestEnvoyTalksToUsByUnixSocketsOnly: a VM can reach neither.
func TestEnvoyTalksToUsByUnixSocketsOnly(t *testing.T) {
	g := NewWithT(t)
	b := &bootstrapv3.Bootstrap{}
	g.Expect(protojson.Unmarshal(Bootstrap("/run/oooi", "edge-1"), b)).To(Succeed())
	g.Expect(b.Node.Id).To(Equal("edge-1"))
	g.Expect(b.Admin.Address.GetPipe().GetPath()).To(Equal("/run/oooi/envoy/admin.sock"))
	g.Expect(b.StaticResources.Listeners).To(BeEmpty())
	g.Expect(b.StaticResources.Clusters).To(HaveLen(1))
	at := b.StaticResources.Clusters[0].LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint().Address
	g.Expect(at.GetPipe().GetPath()).To(Equal("/run/oooi/xds/xds.sock"))
	g.Expect(Arguments("/run/oooi", "edge-1")).To(ContainElement(string(Bootstrap("/run/oooi", "edge-1"))))
	g.Expect(string(Bootstrap("/run/oooi", "edge-1"))).NotTo(ContainSubstring(": "), "white space would change from build to build, and with it every pod")
}
