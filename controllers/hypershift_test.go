package controllers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
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
	for _, ns := range []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: h.key.Namespace}}, controlPlaneNamespace(h.ns)} {
		g.Expect(client.IgnoreAlreadyExists(s.admin.Create(t.Context(), ns))).To(Succeed())
	}
	sample, err := os.ReadFile(filepath.Join("..", "config", "samples", "hostedcluster.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	renamed := strings.NewReplacer("blue", name, `"bridge": "br1"`, `"bridge": "br-`+name+`"`).Replace(string(sample))
	for _, u := range objectsOf(t, []byte(renamed)) {
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
	g.Expect(h.admin.Create(t.Context(), &hyperv1.HostedControlPlane{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: h.key.Name},
		Spec: hyperv1.HostedControlPlaneSpec{
			DNS: hyperv1.DNSSpec{BaseDomain: "example.com"}, InfraID: h.key.Name, IssuerURL: "https://kubernetes.default.svc",
			Etcd:         hyperv1.EtcdSpec{ManagementType: hyperv1.Managed, Managed: &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{Type: hyperv1.PersistentVolumeEtcdStorage}}},
			Platform:     hyperv1.PlatformSpec{Type: hyperv1.KubevirtPlatform},
			ReleaseImage: "quay.io/openshift-release-dev/ocp-release:4.20.8-multi",
			Services:     h.hostedCluster(t).Spec.Services,
			Networking:   h.hostedCluster(t).Spec.Networking,
		},
	})).To(Succeed())
	for name, port := range map[string]int32{"kube-apiserver": 6443, "ignition-server-proxy": 443, "konnectivity-server": 8091, "oauth-openshift": 6443} {
		g.Expect(h.admin.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: port}}},
		})).To(Succeed())
	}
	for name, service := range map[string]string{"ignition-server": "ignition-server-proxy", "konnectivity-server": "konnectivity-server", "oauth": "oauth-openshift"} {
		g.Expect(h.admin.Create(t.Context(), &routev1.Route{
			ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: name},
			Spec: routev1.RouteSpec{
				Host: name + "-" + h.ns + ".apps.mgmt.example.com", To: routev1.RouteTargetReference{Kind: "Service", Name: service},
				TLS: &routev1.TLSConfig{Termination: routev1.TLSTerminationPassthrough},
			},
		})).To(Succeed())
	}
	h.status(t, func(s *hyperv1.HostedClusterStatus) {
		s.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "203.0.113.10", Port: 6443}
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
	}).WithTimeout(patience).Should(Succeed())
}

// annotate sets one annotation of ours; "" removes it.
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
	return meta.FindStatusCondition(h.hostedCluster(t).Status.Conditions, ConditionType)
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
		for i := range all {
			if err := h.serves(t, &all[i]); err != nil {
				return err
			}
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
			if n.Name == h.network(definition).Name && (len(all) != len(n.Edges) || slices.ContainsFunc(all, func(d appsv1.Deployment) bool { return roleOf(d) == roleACD })) {
				return fmt.Errorf("on %s there are %d of %d edges", definition, len(all), len(n.Edges))
			}
		}
		return nil
	}).WithTimeout(patience).Should(Succeed())
}

// wellServed waits until all edges are said to serve.
func (h hosted) wellServed(t *testing.T) {
	t.Helper()
	NewWithT(t).Eventually(h.says(t)).WithTimeout(patience).Should(And(HavePrefix(string(explain.ReadyWithWarnings)), Not(ContainSubstring("is not ready"))))
}

// serves plays the Deployment's controller: the pod is there as it is wished, and
// ready.
func (h hosted) serves(t *testing.T, d *appsv1.Deployment) error {
	if d.Status.ObservedGeneration == d.Generation && d.Status.AvailableReplicas == 1 {
		return nil
	}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	return h.admin.Status().Update(t.Context(), d)
}

// deployments of ours on a network, by its definition, sorted.
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
