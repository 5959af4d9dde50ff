package report_test

import (
	"testing"

	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/test/golden"
)

// TestInputs: the hash differs if an object differs in what plans are made from, and only then.
func TestInputs(t *testing.T) {
	read := func() hcp.Objects {
		dump := &files.Dump{}
		NewWithT(t).Expect(dump.Add(golden.Find(t, "lb-ip").Read(t, "objects.yaml"))).To(Succeed())
		return dump.Clusters()[0]
	}
	one := intstr.FromInt32(2)
	for name, c := range map[string]struct {
		change func(*hcp.Objects)
		same   bool
	}{
		"nothing":                   {func(*hcp.Objects) {}, true},
		"a version of an object":    {func(o *hcp.Objects) { o.NodePools[0].ResourceVersion, o.Routes[0].ResourceVersion = "7", "8" }, true},
		"a condition of a NodePool": {func(o *hcp.Objects) { o.NodePools[0].Status.Conditions = []hyperv1.NodePoolCondition{{Type: "Ready"}} }, true},
		"the spec of a HostedCluster, which has a generation": {func(o *hcp.Objects) { o.HostedCluster.Spec.Release.Image, o.HostedCluster.Generation = "a", 77 }, true},
		"an image of HyperShift":                              {func(o *hcp.Objects) { o.HostedCluster.Annotations[hyperv1.KonnectivityAgentImageAnnotation] = "a" }, false},
		"an image of a NodePool": {func(o *hcp.Objects) {
			o.NodePools[0].Annotations = map[string]string{"hypershift.openshift.io/haproxy-image": "a"}
		}, false},
		"a release":          {func(o *hcp.Objects) { o.NodePools[0].Spec.Release.Image = "a" }, false},
		"VMs that are added": {func(o *hcp.Objects) { o.NodePools[0].Spec.Management.Replace.RollingUpdate.MaxSurge = &one }, false},
		"the least size":     {func(o *hcp.Objects) { o.NodePools[0].Spec.AutoScaling = &hyperv1.NodePoolAutoScaling{Min: 1} }, false},
		"a pause":            {func(o *hcp.Objects) { o.NodePools[0].Spec.PausedUntil = &o.NodePools[0].Name }, false},
		"a volume":           {func(o *hcp.Objects) { o.NodePools[0].Spec.Platform.Kubevirt.RootVolume = nil }, false},
		"the end of a Route": {func(o *hcp.Objects) { o.Routes[0].DeletionTimestamp = &metav1.Time{} }, false},
		"a Route with TLS":   {func(o *hcp.Objects) { o.Routes[0].Spec.TLS = &routev1.TLSConfig{Termination: "edge"} }, false},
		"a wildcard":         {func(o *hcp.Objects) { o.Routes[0].Spec.WildcardPolicy = routev1.WildcardPolicySubdomain }, false},
		"another Service":    {func(o *hcp.Objects) { o.Routes[0].Spec.AlternateBackends = []routev1.RouteTargetReference{{Name: "a"}} }, false},
		"an internal Route": {func(o *hcp.Objects) {
			o.Routes[0].Labels = map[string]string{"hypershift.openshift.io/internal-route": "true"}
		}, false},
		"a host of a router": {func(o *hcp.Objects) { o.Routes[0].Status.Ingress = []routev1.RouteIngress{{Host: "a"}} }, false},
		"a device of a NAD": {func(o *hcp.Objects) {
			o.NetworkAttachmentDefinitions[0].Annotations = map[string]string{wire.AnnotationResourceName: "a"}
		}, false},
		"a port of a Service": {func(o *hcp.Objects) { o.Services[0].Spec.Ports[0].NodePort = 31999 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			o := read()
			c.change(&o)
			NewWithT(t).Expect(report.Inputs(o) == report.Inputs(read())).To(Equal(c.same))
		})
	}
}
