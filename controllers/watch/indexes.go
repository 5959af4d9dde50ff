// This file lists the indexes of cached objects, so that a pass over one hosted cluster does not cost more with many
// others.

package watch

import (
	"context"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/network"
)

// An Index finds cached objects of one kind by their values.
type Index struct {
	Name   string
	Values func(client.Object) []string
}

const (
	// ByControlPlane finds a HostedCluster by its control plane namespace.
	ByControlPlane = "controlPlaneNamespace"
	// ByCluster finds a NodePool by the name of its HostedCluster.
	ByCluster = "hostedCluster"
	// ByNetwork finds NodePools and VMs by the NADs that they use ("namespace/name"). It finds foreign NADs by
	// Layer2Value, and plans in force by the names and layer-2 networks of their networks.
	ByNetwork = "network"
)

// IndexesOf returns the indexes of o's kind.
func IndexesOf(o client.Object) []Index {
	switch o.(type) {
	case *lenient.HostedCluster:
		return []Index{{ByControlPlane, controlPlaneOf}}
	case *lenient.NodePool:
		return []Index{{ByCluster, clusterOf}, {ByNetwork, nadsOf}}
	case *lenient.VirtualMachineInstance:
		return []Index{{ByNetwork, nadsOf}}
	case *lenient.NetworkAttachmentDefinition:
		return []Index{{ByNetwork, layer2Of}}
	case *corev1.ConfigMap:
		return []Index{{ByNetwork, servedOf}}
	}
	return nil
}

// addIndexes adds the indexes of o's kind to indexer. Call it once for each kind.
func addIndexes(ctx context.Context, indexer client.FieldIndexer, o client.Object) error {
	for _, x := range IndexesOf(o) {
		if err := indexer.IndexField(ctx, o, x.Name, x.Values); err != nil {
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
	return []string{objects.ClusterOf(np)}
}

func nadsOf(o client.Object) []string {
	var used []network.Attachment
	switch o := o.(type) {
	case *lenient.NodePool:
		hc := &hyperv1.HostedCluster{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: objects.ClusterOf(o)}}
		used = networks.UsedNADs(hcp.Objects{HostedCluster: hc, NodePools: []hyperv1.NodePool{*o.Fields}})
	case *lenient.VirtualMachineInstance:
		used = networks.UsedNADs(hcp.Objects{VMs: []lenient.VirtualMachineInstance{*o}})
	}
	return network.Texts(used)
}

func layer2Of(o client.Object) []string {
	nad, ok := o.(*lenient.NetworkAttachmentDefinition)
	if !ok || own.Is(nad) {
		return nil
	}
	if layer2 := networks.Layer2(*nad.Fields); layer2 != "" {
		return []string{Layer2Value(layer2)}
	}
	return nil
}

func servedOf(o client.Object) []string {
	var out []string
	for _, a := range StoredPlan(o).Attachments() {
		out = append(out, NetworkValues(a)...)
	}
	return out
}

// NetworkValues returns the index values of a network: its NAD, and its layer-2 network if known.
func NetworkValues(a network.Attachment) []string {
	if a.Layer2 == "" {
		return []string{a.String()}
	}
	return []string{a.String(), Layer2Value(a.Layer2)}
}

// Layer2Value returns the index value of a layer-2 network. It cannot be the name of a NAD.
func Layer2Value(layer2 string) string { return "layer2:" + layer2 }

// StoredPlan returns the plan in a ConfigMap, or the zero Plan if there is none or it cannot be read.
func StoredPlan(o client.Object) network.Plan {
	p, err := network.ReadPlan([]byte(PlanText(o)))
	if err != nil {
		return network.Plan{}
	}
	return p
}

// PlanText returns the text of the plan in a ConfigMap.
func PlanText(o client.Object) string {
	cm, ok := o.(*corev1.ConfigMap)
	if !ok {
		return ""
	}
	return cm.Data[wire.PlanKey]
}
