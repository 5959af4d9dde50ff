package operatorbench

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
)

// playDeployments plays the controller of oooi's Deployments until the test ends: each pod is there
// as it is wished at once, and ready. So no host answers where addresses are checked.
func (w *world) playDeployments(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	skipName := true
	mgr, err := ctrl.NewManager(w.Env.Config, ctrl.Options{
		Scheme: w.Admin.Scheme(), Metrics: server.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skipName},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&appsv1.Deployment{}: {Label: labels.SelectorFromSet(wire.OwnedLabels())}}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	play := reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, playDeployment(ctx, mgr.GetClient(), r.NamespacedName)
	})
	g.Expect(ctrl.NewControllerManagedBy(mgr).For(&appsv1.Deployment{}).WithOptions(controller.Options{MaxConcurrentReconciles: 8}).Complete(play)).To(Succeed())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the controller of Deployments ended: %v", err)
		}
	})
}

func playDeployment(ctx context.Context, c client.Client, key types.NamespacedName) error {
	d := &appsv1.Deployment{}
	if err := c.Get(ctx, key, d); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !d.DeletionTimestamp.IsZero() || !apiserver.Serve(d) {
		return nil
	}
	err := c.Status().Update(ctx, d)
	if apierrors.IsConflict(err) {
		return nil // The newer version comes.
	}
	return client.IgnoreNotFound(err)
}
