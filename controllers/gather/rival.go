// This file finds the hosted cluster that keeps a control plane namespace if two share it.

package gather

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
)

func (r Reader) gatherRival(ctx context.Context, w *World) error {
	hc := w.HostedCluster
	for _, req := range r.Clusters(ctx, client.MatchingFields{watch.ByControlPlane: hcp.ControlPlaneNamespace(hc)}) {
		if req.String() == own.ClusterName(hc) {
			continue
		}
		other, objects := &lenient.HostedCluster{}, hcp.Objects{}
		if err := r.Client.Get(ctx, req.NamespacedName, other); apierrors.IsNotFound(err) {
			continue // The HostedCluster was deleted meanwhile.
		} else if err != nil {
			return err
		}
		objects.SetHostedCluster(other)
		exist, err := r.Serves(ctx, objects.HostedCluster)
		if err != nil {
			return err
		}
		if hcp.KeepsControlPlane(objects.HostedCluster, exist, hc, w.Binding != nil || len(w.Owned) > 0) {
			w.Rival = req.NamespacedName
		}
	}
	return nil
}
