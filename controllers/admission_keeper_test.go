package controllers

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/config/rbac"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/policies"
)

// namespaceUID is the UID of the operator's namespace.
func (s *apiServer) namespaceUID(t *testing.T) types.UID {
	t.Helper()
	ns := &corev1.Namespace{}
	NewWithT(t).Expect(s.admin.Get(t.Context(), client.ObjectKey{Name: "oooi-system"}, ns)).To(Succeed())
	return ns.UID
}

// applyAll makes k apply the policies that it was built with.
func (s *apiServer) applyAll(t *testing.T, k *policies.Keeper) error {
	t.Helper()
	policies, err := admission.Policies()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	role, err := rbac.ControlPlane()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return k.Apply(t.Context(), policies, role)
}

// testKeeperOwnsTheRole: ClusterRole oooi-controlplane is deleted with the namespace, also after another
// client replaced the role. The keeper's token widens no role.
func testKeeperOwnsTheRole(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	k, account := s.keeper(t)
	role := func() *rbacv1.ClusterRole {
		out := &rbacv1.ClusterRole{}
		g.Expect(s.admin.Get(t.Context(), client.ObjectKey{Name: own.ControlPlaneRole}, out)).To(Succeed())
		return out
	}
	shipped := role()
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "Namespace", Name: "default", UID: "x"}
	for what, owners := range map[string][]metav1.OwnerReference{"as installed": nil, "replaced": nil, "with another owner": {other}} {
		replaced := role()
		replaced.OwnerReferences = owners
		g.Expect(s.admin.Update(t.Context(), replaced)).To(Succeed())
		g.Expect(s.applyAll(t, k)).To(Succeed())
		now := role()
		g.Expect(now.OwnerReferences).To(ContainElement(HaveField("UID", s.namespaceUID(t))), what)
		g.Expect(now.OwnerReferences).To(HaveLen(len(owners)+1), what)
		g.Expect(now.Rules).To(Equal(shipped.Rules), what)
		g.Expect(now.Labels).To(Equal(shipped.Labels), what)
	}

	operators := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "oooi"}}
	for what, try := range map[string]struct {
		role  *rbacv1.ClusterRole
		patch string
	}{
		"widens it":               {role(), `{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`},
		"takes its rules":         {role(), `{"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]}`},
		"aggregates other roles":  {role(), `{"aggregationRule":{"clusterRoleSelectors":[{}]}}`},
		"aggregates it elsewhere": {role(), `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}}`},
		"owns another role":       {operators, `{"metadata":{"ownerReferences":null}}`},
	} {
		err := account.Patch(t.Context(), try.role, client.RawPatch(types.MergePatchType, []byte(try.patch)))
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "the keeper %s: %v", what, err)
	}
	g.Expect(apierrors.IsForbidden(account.Delete(t.Context(), operators))).To(BeTrue())
	g.Expect(apierrors.IsForbidden(account.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "x"}}))).To(BeTrue())

}

// testKeeperReportsTheRole: the keeper's token can take rules away from ClusterRole oooi-controlplane, and then
// change its metadata. The keeper reports that until an administrator replaces the role. To apply it would
// keep a label that gives its rules to other roles.
func testKeeperReportsTheRole(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	k, account := s.keeper(t)
	apply := func() error { return s.applyAll(t, k) }
	g.Expect(apply()).To(Succeed())
	shipped, err := rbac.ControlPlane()
	g.Expect(err).NotTo(HaveOccurred())
	rules, err := json.Marshal(map[string]any{"rules": shipped.Rules})
	g.Expect(err).NotTo(HaveOccurred())
	for what, try := range map[string]struct{ patch, says string }{
		"empties it":              {`{"rules":[]}`, "other rules"},
		"narrows it":              {`{"rules":[{"apiGroups":["apps"],"resources":["deployments"],"verbs":["create"]}]}`, "other rules"},
		"keeps it":                {`{"metadata":{"finalizers":["example.com/never"]}}`, "finalizers"},
		"aggregates it elsewhere": {`{"rules":[],"metadata":{"labels":{"` + aggregateToView + `":"true"}}}`, aggregateToView},
	} {
		patch := client.RawPatch(types.MergePatchType, []byte(try.patch))
		err := account.Patch(t.Context(), shipped.DeepCopy(), patch)
		if what == "narrows it" {
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "a rule that is given needs the right: %v", err)
			err = s.admin.Patch(t.Context(), shipped.DeepCopy(), patch)
		}
		g.Expect(err).NotTo(HaveOccurred(), what)
		g.Expect(apply()).To(MatchError(ContainSubstring(try.says)), what)
		if strings.Contains(try.patch, "metadata") {
			g.Expect(s.admin.Patch(t.Context(), shipped.DeepCopy(), client.RawPatch(types.MergePatchType, rules))).To(Succeed())
			g.Expect(apply()).To(MatchError(Or(ContainSubstring("finalizers"), ContainSubstring(aggregateToView))), "%s: to apply is not enough", what)
		}
		g.Expect(s.admin.Update(t.Context(), shipped.DeepCopy())).To(Succeed(), "as kubectl replace does")
		g.Expect(apply()).To(Succeed(), what)
	}
	g.Expect(account.Delete(t.Context(), shipped.DeepCopy())).To(Succeed())
	g.Expect(apply()).To(MatchError(ContainSubstring("not found")))
	s.awaitPolicies(t)
	g.Expect(s.admin.Create(t.Context(), shipped.DeepCopy())).To(Succeed())
	g.Expect(apply()).To(Succeed())
}

// aggregateToView is a label that gives the rules of a ClusterRole to everyone with the role view.
const aggregateToView = "rbac.authorization.k8s.io/aggregate-to-view"

// testKeeperIsReady: the probe reports whether the policies are applied, and why not.
func testKeeperIsReady(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	k, _ := s.keeper(t)
	g.Expect(k.Ready(nil)).To(MatchError(ContainSubstring("not applied yet")))
	rights := &rbacv1.ClusterRole{}
	g.Expect(s.admin.Get(t.Context(), client.ObjectKey{Name: "oooi-admission"}, rights)).To(Succeed())
	g.Expect(s.admin.Delete(t.Context(), rights)).To(Succeed())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.Run(ctx) }()
	ready := func() error { return k.Ready(nil) }
	g.Eventually(ready).Should(MatchError(ContainSubstring("forbidden")))
	rights.ResourceVersion = ""
	g.Expect(s.admin.Create(t.Context(), rights)).To(Succeed())
	g.Eventually(ready).Should(Succeed())
	stop()
	g.Expect(<-ended).To(Succeed())
}

// testKustomizeTakesOver: where kustomize replaces the Operator Lifecycle Manager, the policies still have the namespace
// as their owner. kubectl replace removes it, so that the policies outlive kubectl delete -k config/operator.
func testKustomizeTakesOver(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	k, _ := s.keeper(t)
	g.Expect(s.applyAll(t, k)).To(Succeed())
	config := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(config, s.Env.KubeConfig, 0o600)).To(Succeed())
	owners := func(verb, dir string) (out []metav1.OwnerReference) {
		text, err := exec.CommandContext(t.Context(), filepath.Join(s.Env.BinaryAssetsDirectory, "kubectl"),
			"--kubeconfig", config, verb, "-k", filepath.Join("..", "config", dir)).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(text))
		for _, list := range []client.ObjectList{&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}} {
			g.Expect(s.admin.List(t.Context(), list)).To(Succeed())
			g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
				if o, ok := o.(client.Object); ok && strings.HasPrefix(o.GetName(), "oooi-") {
					out = append(out, o.GetOwnerReferences()...)
				}
				return nil
			})).To(Succeed())
		}
		return out
	}
	g.Expect(owners("apply", "default")).To(HaveLen(8), "apply removes no owner")
	g.Expect(owners("replace", "admission")).To(BeEmpty())
}
