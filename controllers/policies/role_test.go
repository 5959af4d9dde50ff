package policies

import (
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/config/rbac"
)

// TestRoleDiffers: the Operator Lifecycle Manager adds labels of its own, which make no difference.
func TestRoleDiffers(t *testing.T) {
	shipped, err := rbac.ControlPlane()
	now := metav1.Now()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for what, row := range map[string]struct {
		change func(*rbacv1.ClusterRole)
		says   string
	}{
		"as shipped":     {func(*rbacv1.ClusterRole) {}, ""},
		"labels of OLM":  {func(r *rbacv1.ClusterRole) { r.Labels["operators.coreos.com/oooi.oooi-system"] = "" }, ""},
		"owned":          {func(r *rbacv1.ClusterRole) { r.OwnerReferences = []metav1.OwnerReference{{UID: "x"}} }, ""},
		"a rule is gone": {func(r *rbacv1.ClusterRole) { r.Rules = r.Rules[1:] }, "other rules"},
		"aggregates":     {func(r *rbacv1.ClusterRole) { r.AggregationRule = &rbacv1.AggregationRule{} }, "other rules"},
		"aggregated":     {func(r *rbacv1.ClusterRole) { r.Labels[aggregation+"aggregate-to-view"] = "true" }, "aggregate-to-view"},
		"kept":           {func(r *rbacv1.ClusterRole) { r.Finalizers = []string{"example.com/never"} }, "finalizers"},
		"ends":           {func(r *rbacv1.ClusterRole) { r.DeletionTimestamp = &now }, "being deleted"},
	} {
		t.Run(what, func(t *testing.T) {
			live := shipped.DeepCopy()
			row.change(live)
			if err := roleDiffers(shipped, live); row.says == "" {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			} else {
				NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.says)))
			}
		})
	}
}
