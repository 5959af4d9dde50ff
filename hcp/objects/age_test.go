package objects_test

import (
	"testing"

	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/objects"
)

// TestRenderedClusterIsYoungest checks that a cluster which does not exist yet takes no
// address from one that does, whatever their names are.
func TestRenderedClusterIsYoungest(t *testing.T) {
	g := NewWithT(t)
	for _, names := range [][2]string{{"exists", "zz"}, {"exists", "aa"}} {
		exists, rendered := &hyperv1.HostedCluster{}, &hyperv1.HostedCluster{}
		exists.Name, rendered.Name = names[0], names[1]
		exists.CreationTimestamp = metav1.Now()
		g.Expect(objects.Older(exists, rendered)).To(BeTrue(), "%v", names)
		g.Expect(objects.Older(rendered, exists)).To(BeFalse(), "%v", names)
		g.Expect(objects.SameAge(rendered, exists)).To(BeFalse())
	}
}
