package apply

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/hcp/services"
)

// TestEndpointsOfEdges: Endpoints with edges only are those that Kubernetes left.
func TestEndpointsOfEdges(t *testing.T) {
	g := NewWithT(t)
	of := func(lists map[string][]string) *unstructured.Unstructured {
		subset := map[string]any{}
		for key, names := range lists {
			var all []any
			for _, name := range names {
				address := map[string]any{"ip": "10.0.0.1"}
				if name != "" {
					address["targetRef"] = map[string]any{"kind": "Pod", "name": name}
				}
				all = append(all, address)
			}
			subset[key] = all
		}
		return &unstructured.Unstructured{Object: map[string]any{"subsets": []any{subset}}}
	}
	g.Expect(services.OfEdges(references(of(map[string][]string{"addresses": {"oooi-edge-a-1-x"}, "notReadyAddresses": {"oooi-edge-a-2-x"}})))).To(BeTrue())
	g.Expect(services.OfEdges(references(of(map[string][]string{"addresses": {"oooi-edge-a-1-x"}, "notReadyAddresses": {"etcd-0"}})))).To(BeFalse())
	g.Expect(services.OfEdges(references(of(map[string][]string{"addresses": {""}})))).To(BeFalse(), "by hand")
	g.Expect(services.OfEdges(references(of(nil)))).To(BeFalse())
}
