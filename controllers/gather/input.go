// This file reads the objects from which the networks of one hosted cluster are derived. It reads no Secret.

package gather

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
)

func (r Reader) gatherInput(ctx context.Context, w *World) error {
	if err := r.Kinds.Complete(); err != nil {
		return err
	}
	if err := r.ReadControlPlane(ctx, w); err != nil {
		return err
	}
	if err := r.ReadAttached(ctx, &w.Objects); err != nil {
		return err
	}
	if err := r.readPublished(ctx, &w.Objects); err != nil {
		return err
	}
	if err := r.readEnvironment(ctx, w); err != nil {
		return err
	}
	if err := r.gatherEndpoints(ctx, w); err != nil {
		return err
	}
	return r.readNeighbors(ctx, w)
}

// ReadControlPlane reads the HostedControlPlane, the owner of all objects of oooi.
func (r Reader) ReadControlPlane(ctx context.Context, w *World) error {
	cp := &metav1.PartialObjectMetadata{}
	cp.SetGroupVersionKind(own.HostedControlPlaneKind)
	key := types.NamespacedName{Namespace: hcp.ControlPlaneNamespace(w.HostedCluster), Name: w.HostedCluster.Name}
	err := r.Client.Get(ctx, key, cp)
	if err == nil {
		w.ControlPlane = cp
	}
	return requests.Present(client.IgnoreNotFound(err))
}

// EnoughNodePools limits how many NodePools of another cluster are read. With more than objects.MaxNodePools, that
// cluster gets no plan.
const EnoughNodePools = client.Limit(objects.MaxNodePools + 1)

// ReadAttached adds to o the NodePools, the VMs, and the NADs that NodePools name. nodePools are options for listing NodePools.
func (r Reader) ReadAttached(ctx context.Context, o *hcp.Objects, nodePools ...client.ListOption) error {
	hc := o.HostedCluster
	pools := &lenient.NodePoolList{}
	of := append(nodePools, client.InNamespace(hc.Namespace), client.MatchingFields{watch.ByCluster: hc.Name}, client.UnsafeDisableDeepCopy)
	if err := requests.Present(r.Client.List(ctx, pools, of...)); err != nil {
		return err
	}
	o.AddNodePools(pools.Items)
	vms := &lenient.VirtualMachineInstanceList{}
	err := requests.Present(r.Client.List(ctx, vms, client.InNamespace(hcp.ControlPlaneNamespace(hc)), client.UnsafeDisableDeepCopy))
	if err != nil {
		return err
	}
	o.AddVMs(vms.Items)
	return r.ReadNamed(ctx, o)
}

// ReadNamed reads the NADs that o's NodePools name.
func (r Reader) ReadNamed(ctx context.Context, o *hcp.Objects) error {
	return r.gatherDefinitions(ctx, o, objects.NamedNADs(*o))
}

// gatherDefinitions reads the named NADs that exist.
func (r Reader) gatherDefinitions(ctx context.Context, o *hcp.Objects, named []network.Attachment) error {
	o.NetworkAttachmentDefinitions = nil
	var found []lenient.NetworkAttachmentDefinition
	for _, a := range named {
		nad := lenient.NetworkAttachmentDefinition{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &nad)
		if err == nil {
			found = append(found, nad)
		}
		if err := requests.Present(client.IgnoreNotFound(err)); err != nil {
			return err
		}
	}
	o.AddNADs(found)
	return nil
}

func (r Reader) readPublished(ctx context.Context, o *hcp.Objects) error {
	ns := client.InNamespace(hcp.ControlPlaneNamespace(o.HostedCluster))
	routes, all := &lenient.RouteList{}, &corev1.ServiceList{}
	for _, list := range []client.ObjectList{routes, all} {
		if err := requests.Present(r.Client.List(ctx, list, ns, client.UnsafeDisableDeepCopy)); err != nil {
			return err
		}
	}
	o.AddRoutes(routes.Items)
	o.Services = all.Items
	pods := &discoveryv1.EndpointSliceList{}
	if err := r.Client.List(ctx, pods, ns, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	o.Pods, o.Slices = management.PodAddresses(pods.Items), services.LoadBalancerSlices(pods.Items)
	return nil
}

// gatherRemaining reads how to remove the networks of a cluster that does not opt in.
func (r Reader) gatherRemaining(ctx context.Context, w *World) error {
	if w.Binding == nil && len(w.Owned) == 0 || hcp.OptedOut(w.HostedCluster) && hcp.PausedBy(w.HostedCluster, r.Now()) == "" {
		return nil
	}
	if err := r.ReadControlPlane(ctx, w); err != nil {
		return err
	}
	vms := &lenient.VirtualMachineInstanceList{}
	w.VMsUnread = requests.Present(r.Client.List(ctx, vms, client.InNamespace(hcp.ControlPlaneNamespace(w.HostedCluster)), client.UnsafeDisableDeepCopy))
	w.AddVMs(vms.Items)
	return r.gatherDefinitions(ctx, &w.Objects, networks.UsedNADs(w.Objects))
}
