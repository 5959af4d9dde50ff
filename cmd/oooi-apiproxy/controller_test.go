package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/programs"
)

// manager: a controller that applies an owned object for each VM, and makes it again when it is deleted.
func (w world) manager(t *testing.T) {
	g := NewWithT(t)
	m, err := ctrl.NewManager(configOf(t, w.proxied), ctrl.Options{Scheme: apiserver.Scheme(t), Metrics: server.Options{BindAddress: "0"}})
	g.Expect(err).NotTo(HaveOccurred())
	c := m.GetClient()
	g.Expect(ctrl.NewControllerManagedBy(m).For(&kubevirtv1.VirtualMachine{}).Owns(&corev1.ConfigMap{}).Complete(reconciler(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
		var one kubevirtv1.VirtualMachine
		if err := c.Get(ctx, r.NamespacedName, &one); err != nil || one.Name != "managed" {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		owner := metav1apply.OwnerReference().WithAPIVersion("kubevirt.io/v1").WithKind("VirtualMachine").WithName(one.Name).WithUID(one.UID).WithController(true)
		owned := corev1apply.ConfigMap(one.Name, one.Namespace).WithOwnerReferences(owner).WithLabels(map[string]string{"kubevirt.io/vm": one.Name})
		return ctrl.Result{}, c.Apply(ctx, owned, client.FieldOwner("manager"), client.ForceOwnership)
	}))).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	defer func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
	}()
	one := vm("managed")
	one.Finalizers = nil
	g.Expect(c.Create(t.Context(), one)).To(Succeed())
	maps := w.direct.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	var first *unstructured.Unstructured
	g.Eventually(func() error { first, err = maps.Get(t.Context(), "managed", metav1.GetOptions{}); return err }, time.Minute).Should(Succeed())
	g.Expect(first.GetOwnerReferences()).To(HaveExactElements(And(HaveField("APIVersion", "internal.virt.example/v1"), HaveField("Kind", "InternalVirtualMachine"))))
	g.Expect(first.GetLabels()).To(Equal(map[string]string{"internal.virt.example/vm": "managed"}))
	g.Expect(maps.Delete(t.Context(), "managed", metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func(g Gomega) {
		again, err := maps.Get(t.Context(), "managed", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.GetUID()).NotTo(Equal(first.GetUID()))
	}, time.Minute).Should(Succeed(), "the watch of owned objects leads to their VM")
}

type reconciler func(context.Context, ctrl.Request) (ctrl.Result, error)

// Reconcile implements reconcile.Reconciler.
func (r reconciler) Reconcile(ctx context.Context, q ctrl.Request) (ctrl.Result, error) {
	return r(ctx, q)
}

// kubectlWatch: kubectl shows objects in its table as they come.
func (w world) kubectlWatch(t *testing.T) {
	g := NewWithT(t)
	c := exec.CommandContext(context.WithoutCancel(t.Context()), w.kubectlBin, "--kubeconfig", w.proxied, "--cache-dir", t.TempDir(), "get", "vm", "-n", "default", "-w", "-L", "kubevirt.io/os")
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	out := programs.Start(t, c)
	direct, err := client.New(configOf(t, w.proxied), client.Options{Scheme: apiserver.Scheme(t)})
	g.Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{"watched-1", "watched-2"} {
		one := vm(name)
		one.Finalizers = nil
		g.Expect(direct.Create(t.Context(), one)).To(Succeed())
		g.Eventually(out.String, time.Minute).Should(MatchRegexp(name + ` +\S+ +linux\n`))
	}
}
