package controllers

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/programs"
)

// newer is an object of a version that the imported types cannot decode.
func newer(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	NewWithT(t).Expect(json.Unmarshal([]byte(text), &u.Object)).To(Succeed())
	return u
}

// testSkew is the operator next to versions of HyperShift and KubeVirt that it was not built with.
func testSkew(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	for _, ns := range []string{"clusters", "others"} {
		g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))).To(Succeed())
	}
	// These exist before the operator starts, so its first list has them.
	for _, text := range []string{
		`{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"namespace":"clusters","name":"drains"},
		  "spec":{"clusterName":"elsewhere","nodeDrainTimeout":"five minutes","management":{"upgradeType":"Replace"},"platform":{"type":"None"},"release":{"image":"quay.io/example/release:1"}}}`,
		`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"namespace":"others","name":"newer"},"spec":{"networks":{"by":"name"},"domain":"small"},"status":[]}`,
	} {
		g.Expect(s.admin.Create(t.Context(), newer(t, text))).To(Succeed())
	}
	pools := definePools(t, s)
	right := s.withoutRight(t, "kubevirt.io")
	r, registry := s.run(t)
	h := s.newHosted(t, "skew", nil)
	h.publish(t)
	o := observed{h, r, registry}
	t.Run("MissingRight", func(t *testing.T) { testMissingRight(t, o, right) })
	t.Run("ObjectsOfOthers", func(t *testing.T) { testObjectsOfOthers(t, h) })
	t.Run("KindVanishes", func(t *testing.T) { testKindVanishes(t, o) })
	t.Run("VersionNotServed", func(t *testing.T) { testVersionNotServed(t, o) })
	t.Run("ManagementKindVanishes", func(t *testing.T) { testManagementKindVanishes(t, o, pools) })
	t.Run("OwnObjects", func(t *testing.T) { testOwnObjects(t, h, s.newHosted(t, "neighbor", nil)) })
}

// An observed is a hosted cluster, with what the operator reports about itself.
type observed struct {
	hosted
	operator *Reconciler
	registry *prometheus.Registry
}

// unwatched waits until the condition, the metric and the readiness probe name a kind.
func (o observed) unwatched(t *testing.T, kind, words string) {
	t.Helper()
	g := NewWithT(t)
	began := time.Now()
	g.Eventually(o.says(t)).Should(And(HavePrefix(string(problem.NotApplied)),
		ContainSubstring("cannot watch objects of kind "+kind), ContainSubstring(words)))
	t.Logf("reported after %s", time.Since(began).Round(time.Millisecond))
	g.Expect(gauges(t, o.registry, "oooi_kind_watched")).To(And(HaveKeyWithValue(kind, 0.), HaveKeyWithValue("Service", 1.)))
	g.Expect(o.operator.Kinds.Ready(nil)).To(MatchError(And(ContainSubstring(kind), ContainSubstring(words))))
}

// watched waits until the condition, the metric and the readiness probe are as they were, and changes
// reach the plan.
func (o observed) watched(t *testing.T, kind, leaseTime string) {
	t.Helper()
	g := NewWithT(t)
	began := time.Now()
	g.Eventually(o.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	t.Logf("gone after %s", time.Since(began).Round(time.Millisecond))
	g.Eventually(func() error { return o.operator.Kinds.Ready(nil) }).Should(Succeed())
	g.Eventually(func() map[string]float64 { return gauges(t, o.registry, "oooi_kind_watched") }).Should(HaveKeyWithValue(kind, 1.))
	o.annotate(t, "lease-time", leaseTime)
	g.Eventually(func() string { return o.plan(t) }).Should(ContainSubstring(`"leaseTime": "` + leaseTime + `0s"`))
}

// withoutRight removes the operator's rights on an API group. The result gives them back.
func (s *apiServer) withoutRight(t *testing.T, group string) (restore func()) {
	t.Helper()
	g := NewWithT(t)
	role := &rbacv1.ClusterRole{}
	g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Name: "oooi"}, role)).To(Succeed())
	rules := role.Rules
	role.Rules = slices.DeleteFunc(slices.Clone(rules), func(r rbacv1.PolicyRule) bool { return slices.Contains(r.APIGroups, group) })
	g.Expect(role.Rules).NotTo(HaveLen(len(rules)))
	g.Expect(s.admin.Update(t.Context(), role)).To(Succeed())
	s.awaitRight(t, false, authorizationv1.ResourceAttributes{Verb: "watch", Group: group, Resource: "virtualmachineinstances"})
	return func() {
		role.Rules = rules
		g.Expect(s.admin.Update(t.Context(), role)).To(Succeed())
	}
}

// testMissingRight: the operator starts without the right to read VMs.
func testMissingRight(t *testing.T, o observed, restore func()) {
	o.unwatched(t, "VirtualMachineInstance", "forbidden")
	restore()
	o.watched(t, "VirtualMachineInstance", "34m")
}

// testKindVanishes: KubeVirt's definition is removed and installed again while the operator runs.
func testKindVanishes(t *testing.T, o observed) {
	g := NewWithT(t)
	plan := o.plan(t)
	definition := apiserver.Objects(t, []byte(programs.VMIDefinition))[0]
	g.Expect(o.admin.Delete(t.Context(), definition.DeepCopy())).To(Succeed())
	o.unwatched(t, "VirtualMachineInstance", "could not find the requested resource")
	o.annotate(t, "lease-time", "36m")
	g.Eventually(func() error { return o.admin.Create(t.Context(), definition.DeepCopy()) }).Should(Succeed())
	g.Expect(o.plan(t)).To(Equal(plan))
	o.watched(t, "VirtualMachineInstance", "35m")
}

// testVersionNotServed: a new HyperShift serves only a version that the operator does not know.
func testVersionNotServed(t *testing.T, o observed) {
	serve := func(known bool) func(map[string]any) {
		return func(version map[string]any) { version["served"] = known || version["name"] != "v1beta1" }
	}
	o.define(t, "nodepools.hypershift.openshift.io", serve(false))
	o.unwatched(t, "NodePool", "could not find the requested resource")
	o.define(t, "nodepools.hypershift.openshift.io", serve(true))
	o.watched(t, "NodePool", "37m")
}

// testObjectsOfOthers: objects that the imported types refuse, of other clusters, change nothing.
func testObjectsOfOthers(t *testing.T, h hosted) {
	g := NewWithT(t)
	g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	g.Expect(h.admin.Create(t.Context(), newer(t,
		`{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","metadata":{"namespace":"others","name":"newest"},"spec":{"domain":7,"networks":["a"]}}`))).To(Succeed())
	h.annotate(t, "lease-time", "31m")
	g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring(`"leaseTime": "31m0s"`))
}

// define changes each version of a CustomResourceDefinition.
func (s *apiServer) define(t *testing.T, name string, change func(version map[string]any)) {
	t.Helper()
	g := NewWithT(t)
	crd := newer(t, `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}`)
	g.Expect(s.admin.Get(t.Context(), types.NamespacedName{Name: name}, crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	g.Expect(err).NotTo(HaveOccurred())
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			change(version)
		}
	}
	g.Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
	g.Expect(s.admin.Update(t.Context(), crd)).To(Succeed())
}

// anyShape makes the API server accept any object of a version.
func anyShape(version map[string]any) {
	version["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
}

// testOwnObjects: a field that is read and cannot be decoded is a problem of one cluster, which keeps
// its plan. Its neighbor in the same namespace follows its own settings.
func testOwnObjects(t *testing.T, h, neighbor hosted) {
	g := NewWithT(t)
	neighbor.publish(t)
	g.Eventually(neighbor.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	h.define(t, "nodepools.hypershift.openshift.io", anyShape)
	plan := h.plan(t)
	replicas := func(value string) func() error {
		return func() error {
			np := newer(t, `{"apiVersion":"hypershift.openshift.io/v1beta1","kind":"NodePool","metadata":{"namespace":"clusters","name":"skew"}}`)
			return h.admin.Patch(t.Context(), np, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":`+value+`}}`)))
		}
	}
	g.Eventually(replicas(`"three"`)).Should(Succeed())
	g.Eventually(h.says(t)).Should(And(HavePrefix(string(problem.NotApplied)),
		ContainSubstring("NodePool clusters/skew"), ContainSubstring("spec.replicas: want int32, not string")))
	h.annotate(t, "lease-time", "32m")
	neighbor.annotate(t, "lease-time", "33m")
	g.Eventually(func() string { return neighbor.plan(t) }).Should(ContainSubstring(`"leaseTime": "33m0s"`))
	g.Expect(h.plan(t)).To(Equal(plan))
	g.Expect(neighbor.reason(t)()).To(Equal(string(problem.AddressCheckPending)))

	g.Expect(replicas(`3`)()).To(Succeed())
	g.Eventually(h.reason(t)).Should(Equal(string(problem.AddressCheckPending)))
	g.Eventually(func() string { return h.plan(t) }).Should(ContainSubstring(`"leaseTime": "32m0s"`))
}
