package picture

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/facts"
)

// TestMapAccess: callers are drawn below VMs.
func TestMapAccess(t *testing.T) {
	g := NewWithT(t)
	f := facts.Open()
	text := drawn(t, pictureOf(status.OutputOf(f, blue.At), f.Plan), "text")
	g.Expect(text).To(HavePrefix(drawn(t, bluePicture(), "text")))
	g.Expect(strings.TrimPrefix(text, drawn(t, bluePicture(), "text"))).To(Equal(`
  Callers in the management cluster
    clusters-blue        namespace
    backup               namespace
    openshift-monitoring namespace
    ingress, monitoring
    anyone               through load balancers
     |
     +-- http://oooi-access.clusters-blue.svc:3128
     |     db.example.com:5432
     |     plain TCP :5432        --> 192.168.100.60
     |     apps:443
     |                           --> *.apps.blue.example.com -> VMs with a DHCP lease, at port 30443
     |     nodes:10250            --> each VM of the cluster with a DHCP lease
     |
     +-- load balancer shop/web, Service a1
     |     node port 31080, 31443 --> VMs with a DHCP lease
     |
     +-- load balancer shop/new, Service a2
     |     node port 31999        --> VMs with a DHCP lease: NOT YET
     |
     x     Any other destination of callers: edges answer 403 and dial nothing.
`))
	g.Expect(drawn(t, pictureOf(status.OutputOf(f, blue.At), f.Plan), "svg")).To(And(ContainSubstring("load balancer shop/web"), ContainSubstring("NOT YET")))
}
