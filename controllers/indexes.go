// This file lists the indexes of cached objects. With them, a pass over one hosted cluster costs the
// same however many others exist. It reads nothing.

package controllers

import (
	"context"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
)

// An index finds cached objects of one kind by their values.
type index struct {
	name   string
	values func(client.Object) []string
}

// The names of indexes.
const (
	// byControlPlane finds a HostedCluster by its control plane namespace.
	byControlPlane = "controlPlaneNamespace"
	// byCluster finds a NodePool by the name of its HostedCluster.
	byCluster = "hostedCluster"
	// byNetwork finds NodePools and VMs by the NADs that they use, "namespace/name", NADs that
	// are not oooi's by layer2Value, and plans in force by the networkValues of their networks.
	byNetwork = "network"
)

// indexesOf are the indexes of o's kind.
func indexesOf(o client.Object) []index {
	switch o.(type) {
	case *lenient.HostedCluster:
		return []index{{byControlPlane, controlPlaneOf}}
	case *lenient.NodePool:
		return []index{{byCluster, clusterOf}, {byNetwork, nadsOf}}
	case *lenient.VirtualMachineInstance:
		return []index{{byNetwork, nadsOf}}
	case *lenient.NetworkAttachmentDefinition:
		return []index{{byNetwork, layer2Of}}
	case *corev1.ConfigMap:
		return []index{{byNetwork, servedOf}}
	}
	return nil
}

// addIndexes lets indexer find objects of o's kind. It is called once for each kind.
func addIndexes(ctx context.Context, indexer client.FieldIndexer, o client.Object) error {
	for _, x := range indexesOf(o) {
		if err := indexer.IndexField(ctx, o, x.name, x.values); err != nil {
			return err
		}
	}
	return nil
}

func controlPlaneOf(o client.Object) []string {
	hc, ok := o.(*lenient.HostedCluster)
	if !ok {
		return nil
	}
	return []string{hcp.ControlPlaneNamespace(&hc.Fields.HostedCluster)}
}

func clusterOf(o client.Object) []string {
	np, ok := o.(*lenient.NodePool)
	if !ok {
		return nil
	}
	return []string{hcp.ClusterOf(np)}
}

// nadsOf are the NADs that a NodePool or a VM uses.
func nadsOf(o client.Object) []string {
	var used []network.Attachment
	switch o := o.(type) {
	case *lenient.NodePool:
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: hcp.ClusterOf(o)}}
		used = hcp.UsedNADs(hcp.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{*o.Fields}})
	case *lenient.VirtualMachineInstance:
		if vm := o.Read(); vm != nil {
			used = hcp.UsedNADs(hcp.Objects{VMs: []kubevirtv1.VirtualMachineInstance{*vm}})
		}
	}
	var out []string
	for _, a := range used {
		out = append(out, a.String())
	}
	return out
}

func layer2Of(o client.Object) []string {
	nad, ok := o.(*lenient.NetworkAttachmentDefinition)
	if !ok || isOwn(nad) {
		return nil
	}
	if layer2 := hcp.Layer2(*nad.Fields); layer2 != "" {
		return []string{layer2Value(layer2)}
	}
	return nil
}

// servedOf are the values of the networks of a plan in force.
func servedOf(o client.Object) []string {
	var out []string
	for _, a := range storedPlan(o).Attachments() {
		out = append(out, networkValues(a)...)
	}
	return out
}

// networkValues find a network: by its NAD, and by its layer-2 network if that is known.
func networkValues(a network.Attachment) []string {
	if a.Layer2 == "" {
		return []string{a.String()}
	}
	return []string{a.String(), layer2Value(a.Layer2)}
}

// layer2Value is no name of a NAD.
func layer2Value(layer2 string) string { return "layer2:" + layer2 }

// storedPlan is the plan in a ConfigMap. Zero: there is none that can be read.
func storedPlan(o client.Object) network.Plan {
	p, err := network.ReadPlan([]byte(planText(o)))
	if err != nil {
		return network.Plan{}
	}
	return p
}

// planText is the text of the plan in a ConfigMap.
func planText(o client.Object) string {
	cm, ok := o.(*corev1.ConfigMap)
	if !ok {
		return ""
	}
	return cm.Data[wire.PlanKey]
}
