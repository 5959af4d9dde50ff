package controllers

import (
	"net/netip"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/edge/wire"
)

// TestNodesRecreateNoEdge: the node that has a published address matters when a pod is
// recreated. It never causes that.
func TestNodesRecreateNoEdge(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	at := plan.Networks[0].PublishedAddresses[0]
	owner := func(name string, a netip.Addr) []corev1.Node {
		n := corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: a.String()}}}}
		n.Name = name
		return []corev1.Node{n}
	}
	w.Nodes = owner("a", at)
	before := running(applied(t, w))
	g.Expect(desired.Avoided(before)).To(Equal([]string{"a"}))
	for what, c := range map[string]struct {
		nodes []corev1.Node
		avoid []string
	}{
		"it has gone": {nil, nil}, "another has its address": {owner("b", at), []string{"b"}}, "it has another address": {owner("a", netip.MustParseAddr("172.16.0.9")), nil},
	} {
		w.Nodes = c.nodes
		w.Edges = edgesOf(before)
		as := applied(t, w)
		g.Expect(as.Annotations).To(Equal(before.Annotations), what)
		g.Expect(as.Spec.Template).To(Equal(before.Spec.Template), what)
		setEdge(&w, before.Name, older)
		g.Expect(desired.Avoided(applied(t, w))).To(Equal(c.avoid), what)
	}
}

// TestGoKeepsToTheLimit: the garbage collector of each container of oooi knows the limit of its memory.
func TestGoKeepsToTheLimit(t *testing.T) {
	g := NewWithT(t)
	w, plan := served(t, "lb-ip")
	own := 0
	for _, c := range edge(t, w, plan).Spec.Template.Spec.Containers {
		if c.Name == wire.Envoy {
			g.Expect(c.Env).To(BeEmpty())
			continue
		}
		own++
		last := len(c.Env) - 1
		g.Expect(last).To(BeNumerically(">=", 0), c.Name)
		g.Expect(c.Env[last].Name).To(Equal("GOMEMLIMIT"))
		bytes, err := strconv.ParseInt(c.Env[last].Value, 10, 64)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(float64(bytes)/float64(c.Resources.Limits.Memory().Value())).To(BeNumerically("~", 0.9, 0.001), c.Name)
	}
	g.Expect(own).To(BeNumerically(">=", 4))
}

// TestEdgesThatWereEdited by hand are put back one after the other.
func TestEdgesThatWereEdited(t *testing.T) {
	kubectl := func(field string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: "kubectl-edit", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:spec":{"f:template":{"f:` + field + `":{}}}}`)}}
	}
	image := func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "mirror.example.com/oooi" }
	for name, c := range map[string]struct {
		by   metav1.ManagedFieldsEntry
		edit func(*appsv1.Deployment)
		held bool
	}{
		"another image":   {kubectl("image"), image, true},
		"other arguments": {kubectl("args"), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[1].Args = []string{"dns", "--debug"} }, true},
		"other addresses": {kubectl(wire.AnnotationNetworks), func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{wire.AnnotationNetworks: "[]"}
		}, true},
		"more memory": {kubectl("resources"), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse("1Gi")
		}, true},
		"a further limit": {kubectl("resources"), func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("1")
		}, false},
		"a container less":             {kubectl("image"), func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = d.Spec.Template.Spec.Containers[1:] }, true},
		"the same said":                {kubectl("image"), func(*appsv1.Deployment) {}, false},
		"by a webhook, as we wrote it": {metav1.ManagedFieldsEntry{Manager: wire.Owner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: kubectl("image").FieldsV1}, image, false},
		"a restart": {kubectl("annotations"), func(d *appsv1.Deployment) {
			metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "kubectl.kubernetes.io/restartedAt", "now")
		}, false},
		"with a webhook, and a restart": {kubectl("annotations"), image, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, _ := twoEdges(t)
			for _, edge := range []string{first, second} {
				setEdge(&w, edge, func(d appsv1.Deployment) appsv1.Deployment {
					d = *d.DeepCopy()
					d.ManagedFields = []metav1.ManagedFieldsEntry{c.by}
					c.edit(&d)
					return d
				})
			}
			d := decide.About(w, testOptions.Release, testNow)
			if !c.held {
				g.Expect(heldOf(d)).To(BeEmpty())
				g.Expect(d.Disruptions).To(BeEmpty())
				return
			}
			g.Expect(heldOf(d)).To(HaveLen(1))
			g.Expect(sentences(d)).To(ContainSubstring("open connections through"))
		})
	}
}
