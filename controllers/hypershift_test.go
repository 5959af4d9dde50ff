package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/apiserver"
)

// A hosted is one hosted cluster whose HyperShift is played by the test.
type hosted struct {
	*apiServer
	key types.NamespacedName
	ns  string
}

// newHosted creates config/samples under another name and on a bridge of its own,
// opted in, without a control plane.
func (s *apiServer) newHosted(t *testing.T, name string, annotations map[string]string) hosted {
	t.Helper()
	g := NewWithT(t)
	h := hosted{s, types.NamespacedName{Namespace: "clusters", Name: name}, "clusters-" + name}
	for _, ns := range []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: h.key.Namespace}}, apiserver.ControlPlaneNamespace(h.ns)} {
		g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), ns))).To(Succeed())
	}
	for _, u := range apiserver.Sample(t, name) {
		if u.GetKind() == "HostedCluster" {
			// HyperShift's, which deletion waits for.
			u.SetFinalizers([]string{"hypershift.openshift.io/finalizer"})
			all := u.GetAnnotations()
			for k, v := range annotations {
				all[settings.Prefix+k] = v
			}
			u.SetAnnotations(all)
		}
		g.Expect(s.admin.Create(t.Context(), u)).To(Succeed(), u.GetKind())
	}
	return h
}

// publish plays HyperShift: the control plane, its Services and Routes, and
// where the API is.
func (h hosted) publish(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(apiserver.Publish(t.Context(), h.admin, h.hostedCluster(t), h.ns)).To(Succeed())
	h.status(t, func(s *hyperv1.HostedClusterStatus) {
		s.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: apiserver.APIAddress, Port: 6443}
	})
}

// status replaces all of the status as HyperShift does, with a full update.
func (h hosted) status(t *testing.T, change func(*hyperv1.HostedClusterStatus)) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		hc := &hyperv1.HostedCluster{}
		if err := h.admin.Get(t.Context(), h.key, hc); err != nil {
			return err
		}
		change(&hc.Status)
		return h.admin.Status().Update(t.Context(), hc)
	}).Should(Succeed())
}

// annotate sets one annotation of oooi; "" removes it.
func (h hosted) annotate(t *testing.T, key, value string) {
	t.Helper()
	g := NewWithT(t)
	hc := h.hostedCluster(t)
	before := hc.DeepCopy()
	if hc.Annotations == nil {
		hc.Annotations = map[string]string{}
	}
	hc.Annotations[settings.Prefix+key] = value
	if value == "" {
		delete(hc.Annotations, settings.Prefix+key)
	}
	g.Expect(h.admin.Patch(t.Context(), hc, client.MergeFrom(before))).To(Succeed())
}

func (h hosted) hostedCluster(t *testing.T) *hyperv1.HostedCluster {
	t.Helper()
	hc := &hyperv1.HostedCluster{}
	NewWithT(t).Expect(h.admin.Get(t.Context(), h.key, hc)).To(Succeed())
	return hc
}

// reason of our condition, "" where there is none.
func (h hosted) reason(t *testing.T) func() string {
	return func() string {
		if c := h.condition(t); c != nil {
			return c.Reason
		}
		return ""
	}
}

func (h hosted) condition(t *testing.T) *metav1.Condition {
	t.Helper()
	return meta.FindStatusCondition(h.hostedCluster(t).Status.Conditions, own.ConditionType)
}

// publishService plays a user who adds a backend of their own.
func (h hosted) publishService(t *testing.T, name, at string) {
	t.Helper()
	NewWithT(t).Expect(h.admin.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: name, Annotations: map[string]string{settings.Prefix + "publish": at}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	})).To(Succeed())
}

// edgeServes plays the Deployments' controller on vlan100, until edges serve there.
func (h hosted) edgeServes(t *testing.T) {
	t.Helper()
	h.edgeOfServes(t, "vlan100")
}

func (h hosted) edgeOfServes(t *testing.T, definition string) {
	t.Helper()
	NewWithT(t).Eventually(func() error {
		all := h.deployments(t, definition)
		if err := h.allServe(t, all); err != nil {
			return err
		}
		cm := &corev1.ConfigMap{}
		if err := h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: wire.PlanConfigMap}, cm); err != nil {
			return err
		}
		plan, err := network.ReadPlan([]byte(cm.Data[wire.PlanKey]))
		if err != nil {
			return err
		}
		for _, n := range plan.Networks {
			if n.Name == h.network(definition).Name && (len(all) != len(n.Edges) || slices.ContainsFunc(all, func(d appsv1.Deployment) bool { return gather.RoleOf(d) == gather.RoleACD })) {
				return fmt.Errorf("on %s there are %d of %d edges", definition, len(all), len(n.Edges))
			}
		}
		return nil
	}).Should(Succeed())
}

// allServe plays the Deployments' controller once for all of these.
func (h hosted) allServe(t *testing.T, all []appsv1.Deployment) error {
	for i := range all {
		if err := h.serves(t, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// wellServed waits until the condition says that all edges serve.
func (h hosted) wellServed(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(h.says(t)).Should(And(HavePrefix(string(explain.ReadyWithWarnings)), Not(ContainSubstring("is not ready"))))
}

// serves plays the Deployment's controller: the pod is there as it is wished, and
// ready.
func (h hosted) serves(t *testing.T, d *appsv1.Deployment) error {
	before := d.DeepCopy()
	if !apiserver.Serve(d) {
		return nil
	}
	return h.admin.Status().Patch(t.Context(), d, client.MergeFrom(before))
}

// deployments are those of oooi on a network, by its definition, sorted.
func (h hosted) deployments(t *testing.T, definition string) []appsv1.Deployment {
	t.Helper()
	list := &appsv1.DeploymentList{}
	NewWithT(t).Expect(h.admin.List(t.Context(), list, client.InNamespace(h.ns), client.MatchingLabels{wire.LabelNetwork: wire.NetworkLabel(h.network(definition).Name)})).To(Succeed())
	slices.SortFunc(list.Items, func(a, b appsv1.Deployment) int { return strings.Compare(a.Name, b.Name) })
	return list.Items
}

// edge is the name of the cluster's first edge on vlan100.
func (h hosted) edge() string { return h.edgeOf("vlan100") }

func (h hosted) edgeOf(definition string) string {
	return wire.EdgeDeploymentName(h.network(definition), network.Edge{Number: 1})
}

// network is what names are made from.
func (h hosted) network(definition string) network.Network {
	a := network.Attachment{Namespace: h.ns, Name: definition}
	return network.Network{Name: a.NetworkName(), Attachment: a}
}

// vm creates a VM on vlan100 that reports an address there.
func (h hosted) vm(t *testing.T, name, address string) *kubevirtv1.VirtualMachineInstance {
	t.Helper()
	np := &hyperv1.NodePool{}
	g := NewWithT(t)
	g.Expect(h.admin.Get(t.Context(), h.key, np)).To(Succeed())
	vm := &kubevirtv1.VirtualMachineInstance{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: name}}
	vm.Spec.Networks = []kubevirtv1.Network{{Name: "iface1", NetworkSource: kubevirtv1.NetworkSource{
		Multus: &kubevirtv1.MultusNetwork{NetworkName: np.Spec.Platform.Kubevirt.AdditionalNetworks[0].Name}}}}
	vm.Status.Interfaces = []kubevirtv1.VirtualMachineInstanceNetworkInterface{{Name: "iface1", MAC: "02:00:00:00:01:01", IP: address, IPs: []string{address}}}
	g.Expect(h.admin.Create(t.Context(), vm)).To(Succeed())
	return vm
}

// ownedByControlPlane are objects of HyperShift in the control plane namespace. They have the same owner as
// those of oooi.
func (h hosted) ownedByControlPlane(t *testing.T, name string) []client.Object {
	t.Helper()
	g := NewWithT(t)
	cp := &hyperv1.HostedControlPlane{}
	g.Expect(h.admin.Get(t.Context(), types.NamespacedName{Namespace: h.ns, Name: h.key.Name}, cp)).To(Succeed())
	in := metav1.ObjectMeta{Namespace: h.ns, Name: name, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedControlPlane", Name: cp.Name, UID: cp.UID}}}
	labels := map[string]string{"app": name}
	all := []client.Object{
		&policyv1.PodDisruptionBudget{ObjectMeta: in}, &nadv1.NetworkAttachmentDefinition{ObjectMeta: in},
		&appsv1.Deployment{ObjectMeta: in, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: name}}}}}},
	}
	for _, o := range all {
		g.Expect(h.admin.Create(t.Context(), o)).To(Succeed())
	}
	return all
}
