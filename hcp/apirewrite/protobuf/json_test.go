package protobuf

import (
	"testing"

	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// encoded is an object as clients send it.
func encoded(t *testing.T, object runtime.Object, kind schema.GroupVersionKind) []byte {
	t.Helper()
	object.GetObjectKind().SetGroupVersionKind(kind)
	scheme := runtime.NewScheme()
	out, err := runtime.Encode(protobuf.NewSerializer(scheme, scheme), object)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// TestJSON: kinds of Kubernetes' stable APIs, with an owner that has a renamed name. Others are errors.
func TestJSON(t *testing.T) {
	g := NewWithT(t)
	c, err := New()
	g.Expect(err).NotTo(HaveOccurred())
	owned := metav1.ObjectMeta{Name: "a", OwnerReferences: []metav1.OwnerReference{{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachine", Name: "a", UID: "1"}}}
	for kind, object := range map[schema.GroupVersionKind]runtime.Object{
		{Group: "autoscaling", Version: "v1", Kind: "Scale"}:                             &autoscalingv1.Scale{ObjectMeta: owned},
		{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"}:           &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: owned},
		{Group: "certificates.k8s.io", Version: "v1", Kind: "CertificateSigningRequest"}: &certificatesv1.CertificateSigningRequest{ObjectMeta: owned},
		{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}:                     &coordinationv1.Lease{ObjectMeta: owned},
		{Group: "policy", Version: "v1", Kind: "Eviction"}:                               &policyv1.Eviction{ObjectMeta: owned},
	} {
		out, err := c.JSON(encoded(t, object, kind))
		g.Expect(err).NotTo(HaveOccurred(), kind.String())
		g.Expect(string(out)).To(And(
			HavePrefix(`{"kind":"`+kind.Kind+`","apiVersion":"`+kind.GroupVersion().String()+`"`),
			ContainSubstring(`"ownerReferences":[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","name":"a","uid":"1"}]`)), kind.String())
	}
	_, err = c.JSON(encoded(t, &policyv1.Eviction{}, schema.GroupVersionKind{Group: "other.example", Version: "v1", Kind: "Eviction"}))
	g.Expect(err).To(MatchError(ContainSubstring("converting an object from protobuf: no kind")))
	_, err = c.JSON([]byte("k8s\x00kubevirt.io"))
	g.Expect(err).To(HaveOccurred())
}
