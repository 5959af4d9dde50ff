package resources

import (
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestEnvoyTalksToUsByUnixSocketsOnly: Envoy and the proxy agent connect only over Unix sockets, which VMs cannot reach.
func TestEnvoyTalksToUsByUnixSocketsOnly(t *testing.T) {
	g := NewWithT(t)
	dirs := NewDirs("/run/oooi/xds", "/run/oooi/envoy")
	b := &bootstrapv3.Bootstrap{}
	g.Expect(protojson.Unmarshal(Bootstrap(dirs, "edge-1", NewLimits(0, 0)), b)).To(Succeed())
	g.Expect(b.Node.Id).To(Equal("edge-1"))
	g.Expect(b.Admin.Address.GetPipe().GetPath()).To(Equal("/run/oooi/envoy/admin.sock"))
	g.Expect(b.StaticResources.Listeners).To(BeEmpty())
	at := map[string]string{}
	for _, c := range b.StaticResources.Clusters {
		at[c.Name] = c.LoadAssignment.Endpoints[0].LbEndpoints[0].GetEndpoint().Address.GetPipe().GetPath()
	}
	g.Expect(at).To(Equal(map[string]string{"xds": "/run/oooi/xds/xds.sock", "access-log": "/run/oooi/xds/access-log.sock", "gate": "/run/oooi/xds/gate.sock"}))
	g.Expect(Arguments(dirs, "edge-1", NewLimits(0, 0))).To(ContainElement(string(Bootstrap(dirs, "edge-1", NewLimits(0, 0)))))
	g.Expect(string(Bootstrap(dirs, "edge-1", NewLimits(0, 0)))).NotTo(ContainSubstring(": "), "white space would change from build to build, and with it every pod")
}
