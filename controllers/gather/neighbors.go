// This file finds and reads the hosted clusters that share a network with one. Package hcp derives what each wants
// there, and package derive how they share it. When one changes, the others are reconciled.

package gather

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/requests"
	"github.com/cldmnky/oooi/controllers/watch"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// readNeighbors reads the requests and the plans in force of the hosted clusters on w's networks. A cluster that opted
// out or is being deleted counts as long as it has objects of oooi. Of a cluster that oooi does not serve, only the
// HostedCluster is read.
func (r Reader) readNeighbors(ctx context.Context, w *World) error {
	ours := networks.All(w.Objects, w.Last)
	unserved := map[types.NamespacedName]derive.OtherCluster{}
	candidates, err := r.clusters(ctx, ours, networks.Allows, func(its *hyperv1.HostedCluster, on network.Attachment, vmsHere bool) {
		if !hcp.MayUseNetworks(its, vmsHere) {
			return
		}
		key := client.ObjectKeyFromObject(its)
		if others := unserved[key].On; !slices.Contains(others, on) {
			unserved[key] = hcp.Unserved(its, w.HostedCluster, append(others, on))
		}
	})
	if err != nil {
		return err
	}
	w.Others = slices.AppendSeq(w.Others, maps.Values(unserved))
	delete(candidates, client.ObjectKeyFromObject(w.HostedCluster))
	for _, candidate := range candidates {
		hc := &candidate.Fields.HostedCluster
		o := hcp.Objects{Nodes: w.Nodes, Management: w.Management, Proxy: w.Proxy, Permissions: w.Permissions}
		o.SetHostedCluster(&candidate)
		if err := r.ReadAttached(ctx, &o, EnoughNodePools); err != nil {
			return err
		}
		serves, _, unread, err := r.PlanInForce(ctx, hc)
		if err != nil {
			return fmt.Errorf("reading the networks of %s: %w", own.ClusterName(hc), err)
		}
		if err := r.readPublished(ctx, &o); err != nil {
			return err
		}
		if n, ok := hcp.NewNeighbor(o, serves).For(w.HostedCluster, ours); ok {
			w.Others = append(w.Others, n)
			w.Unread = slices.Concat(w.Unread, unread, hcp.NodePortsOfOther(w.Objects, hc))
		}
	}
	slices.SortFunc(w.Others, func(a, b derive.OtherCluster) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// ClustersOn returns the hosted clusters on one of the given networks that opted in or may have objects of oooi.
// NodePools or VMs of such a cluster use a NAD of the layer-2 network, or its plan in force serves it. NodePools that a
// NAD does not allow do not count, and nothing of their clusters is read.
func (r Reader) ClustersOn(ctx context.Context, on []network.Attachment) (map[types.NamespacedName]lenient.HostedCluster, error) {
	return r.clusters(ctx, on, networks.Allows, ignore)
}

// ClustersNaming returns the clusters of ClustersOn, and those that use a NAD which does not allow them now.
func (r Reader) ClustersNaming(ctx context.Context, on []network.Attachment) (map[types.NamespacedName]lenient.HostedCluster, error) {
	return r.clusters(ctx, on, func(nadv1.NetworkAttachmentDefinition, string) bool { return true }, ignore)
}

func ignore(*hyperv1.HostedCluster, network.Attachment, bool) {}

// clusters calls unserved for each cluster that is not relevant (own.Relevant), with each network of on that its NodePools
// name, and with whether VMs in its control plane namespace are there.
func (r Reader) clusters(ctx context.Context, on []network.Attachment, allows func(nadv1.NetworkAttachmentDefinition, string) bool, unserved func(*hyperv1.HostedCluster, network.Attachment, bool)) (map[types.NamespacedName]lenient.HostedCluster, error) {
	out, namespaces := map[types.NamespacedName]lenient.HostedCluster{}, map[string]bool{}
	all, err := r.sameNetwork(ctx, on)
	if err != nil {
		return nil, err
	}
	for value, of := range all {
		nad := of.nad
		pools, vms, plans := &lenient.NodePoolList{}, &lenient.VirtualMachineInstanceList{}, &corev1.ConfigMapList{}
		for _, list := range []client.ObjectList{pools, vms, plans} {
			if err := requests.Present(r.Client.List(ctx, list, client.MatchingFields{watch.ByNetwork: value}, client.UnsafeDisableDeepCopy)); err != nil {
				return nil, err
			}
		}
		known := map[string]bool{} // control plane namespaces
		allowed := func(ns string) bool {
			if _, again := known[ns]; !again {
				known[ns] = nad == nil || allows(*nad, ns)
			}
			return known[ns]
		}
		named := map[types.NamespacedName]bool{}
		for i := range pools.Items {
			named[types.NamespacedName{Namespace: pools.Items[i].Namespace, Name: objects.ClusterOf(&pools.Items[i])}] = true
		}
		here := map[string]bool{} // namespaces with VMs
		for i := range vms.Items {
			here[vms.Items[i].Namespace] = here[vms.Items[i].Namespace] || !vms.Items[i].Finished()
		}
		for key := range named {
			ns := hcp.ControlPlaneNamespace(&hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}})
			if !allowed(ns) {
				continue
			}
			hc, err := r.addCluster(ctx, out, key)
			if err != nil {
				return nil, err
			}
			if hc != nil {
				unserved(hc, of.on, here[ns])
			}
		}
		for _, vm := range vms.Items {
			if allowed(vm.Namespace) || slices.ContainsFunc(networks.AttachedTo(vm), func(a network.Attachment) bool { return a.String() == value }) {
				namespaces[vm.Namespace] = true
			}
		}
		for i := range plans.Items {
			namespaces[plans.Items[i].Namespace] = true
		}
	}
	for ns := range namespaces {
		for _, req := range r.Clusters(ctx, client.MatchingFields{watch.ByControlPlane: ns}) {
			if _, err := r.addCluster(ctx, out, req.NamespacedName); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// addCluster adds the cluster of key to all if it is relevant (own.Relevant). If not, it returns its HostedCluster, or nil
// if that does not exist.
func (r Reader) addCluster(ctx context.Context, all map[types.NamespacedName]lenient.HostedCluster, key types.NamespacedName) (unserved *hyperv1.HostedCluster, err error) {
	if _, known := all[key]; known {
		return nil, nil
	}
	hc := lenient.HostedCluster{}
	err = r.Client.Get(ctx, key, &hc)
	switch {
	case err != nil:
		return nil, requests.Present(client.IgnoreNotFound(err))
	case own.Relevant(&hc):
		all[key] = hc
		return nil, nil
	}
	return &hc.Fields.HostedCluster, nil
}

// An indexValue has the NAD with the name of a value in index watch.ByNetwork, or nil, and the network that has the value.
type indexValue struct {
	nad *nadv1.NetworkAttachmentDefinition
	on  network.Attachment
}

// sameNetwork returns the values in index watch.ByNetwork of the given networks, and of all other NADs of the same
// layer-2 networks.
func (r Reader) sameNetwork(ctx context.Context, on []network.Attachment) (map[string]indexValue, error) {
	values := map[string]indexValue{}
	for _, a := range on {
		nad := lenient.NetworkAttachmentDefinition{}
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: a.Namespace, Name: a.Name}, &nad)
		if err := requests.Present(client.IgnoreNotFound(err)); err != nil {
			return nil, err
		}
		if err == nil && a.Layer2 == "" {
			a.Layer2 = networks.Layer2(*nad.Fields)
		}
		for _, value := range watch.NetworkValues(a) {
			values[value] = indexValue{on: a}
		}
		if err == nil {
			values[a.String()] = indexValue{nad.Fields, a}
		}
		if a.Layer2 == "" {
			continue
		}
		list := &lenient.NetworkAttachmentDefinitionList{}
		if err := requests.Present(r.Client.List(ctx, list, client.MatchingFields{watch.ByNetwork: watch.Layer2Value(a.Layer2)}, client.UnsafeDisableDeepCopy)); err != nil {
			return nil, err
		}
		for _, nad := range list.Items {
			values[nad.Namespace+"/"+nad.Name] = indexValue{nad.Fields, a}
		}
	}
	return values, nil
}

// Clusters returns a request for each relevant HostedCluster (own.Relevant) that the options which select.
func (r Reader) Clusters(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	list := &lenient.HostedClusterList{}
	if err := r.Client.List(ctx, list, append(which, client.UnsafeDisableDeepCopy)...); err != nil {
		// The cluster does not have the kind yet, so no object exists. Each will be reconciled when its watch begins.
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if hc := &list.Items[i]; own.Relevant(hc) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(hc)})
		}
	}
	return out
}
