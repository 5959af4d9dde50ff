package controllers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
)

// testUninstallLeavesEdges: kubectl delete -k config/default removes all that it installed. The objects of
// a hosted cluster stay, and an edge can do all that it needs to.
func testUninstallLeavesEdges(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	_, _, stop := s.runAs(t, testOptions, time.Now)
	h := s.served(t, "uninstalled")
	stop()
	before := h.snapshot(t)
	config := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(config, s.Env.KubeConfig, 0o600)).To(Succeed())
	kubectl := exec.CommandContext(t.Context(), filepath.Join(s.Env.BinaryAssetsDirectory, "kubectl"),
		"--kubeconfig", config, "delete", "--wait=false", "-k", filepath.Join("..", "config", "default"))
	out, err := kubectl.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))

	for _, list := range []client.ObjectList{&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{}, &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}} {
		g.Expect(s.admin.List(t.Context(), list)).To(Succeed())
		g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
			if o, ok := o.(client.Object); ok {
				g.Expect(strings.HasPrefix(o.GetName(), "oooi")).To(BeFalse(), "%T %s is left", o, o.GetName())
			}
			return nil
		})).To(Succeed())
	}
	g.Expect(h.snapshot(t)).To(Equal(before))
	edge := s.as(t, h.ns, wire.ServiceAccount)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "oooi.clusters.vlan100.192.168.100.10", Labels: own.Labels()}}
	for _, try := range []struct {
		what string
		do   func() error
	}{
		{"reads its plan", func() error {
			return edge.Get(t.Context(), client.ObjectKey{Namespace: h.ns, Name: wire.PlanConfigMap}, &corev1.ConfigMap{})
		}},
		{"follows its backends", func() error {
			return edge.List(t.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace(h.ns))
		}},
		{"follows its VMs", func() error {
			return edge.List(t.Context(), &kubevirtv1.VirtualMachineInstanceList{}, client.InNamespace(h.ns))
		}},
		{"assigns an address", func() error { return edge.Create(t.Context(), lease) }},
		{"renews the lease", func() error { return edge.Update(t.Context(), lease) }},
		{"lists its leases", func() error { return edge.List(t.Context(), &coordinationv1.LeaseList{}, client.InNamespace(h.ns)) }},
		{"removes the lease", func() error { return edge.Delete(t.Context(), lease) }},
	} {
		g.Expect(try.do()).To(Succeed(), "an edge %s", try.what)
	}
	g.Expect(h.hostedCluster(t).Finalizers).To(HaveLen(1), "HyperShift's: oooi does not delay the deletion of the HostedCluster")
}
