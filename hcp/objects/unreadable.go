// This file adds objects that were decoded leniently, and reports those fields that cannot be decoded. Such fields
// are from another version of HyperShift or KubeVirt.

package objects

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// SetHostedCluster sets the hosted cluster of o.
func (o *Objects) SetHostedCluster(hc *lenient.HostedCluster) {
	o.HostedCluster, o.HostedIngress, o.JoinSubnet, o.OVNMTU, o.OVNIPv6 = &hc.Fields.HostedCluster, hc.Fields.HostedIngress, hc.Fields.JoinSubnet, hc.Fields.OVNMTU, hc.Fields.OVNIPv6
	o.AllocateNodeCIDRs = hc.Fields.AllocateNodeCIDRs
	o.Unreadable = append(o.Unreadable, unreadable(hc, hc.Unreadable)...)
}

// AddNodePools adds those NodePools that belong to o's hosted cluster.
func (o *Objects) AddNodePools(all []lenient.NodePool) {
	for i := range all {
		if np := &all[i]; np.Namespace == o.HostedCluster.Namespace && ClusterOf(np) == o.HostedCluster.Name {
			take(o, &o.NodePools, np)
		}
	}
}

// AddRoutes adds the Routes of the control plane namespace.
func (o *Objects) AddRoutes(all []lenient.Route) {
	for i := range all {
		take(o, &o.Routes, &all[i])
	}
}

// AddVMs adds the VirtualMachineInstances of the control plane namespace that are not finished.
func (o *Objects) AddVMs(all []lenient.VirtualMachineInstance) {
	for i := range all {
		if all[i].Finished() {
			continue
		}
		o.VMs = append(o.VMs, all[i])
		o.Unreadable = append(o.Unreadable, unreadable(&all[i], all[i].Unreadable)...)
	}
}

// AddNADs adds NADs. It reports problems only of NADs that a NodePool of o names, so add the NodePools first.
func (o *Objects) AddNADs(all []lenient.NetworkAttachmentDefinition) {
	named, _ := namedNADs(*o)
	for i := range all {
		n := &all[i]
		o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, *n.Fields)
		if named[network.Attachment{Namespace: n.Namespace, Name: n.Name}] {
			o.Unreadable = append(o.Unreadable, unreadable(n, n.Unreadable)...)
		}
	}
}

// take appends what can be read of object to list, and reports the rest.
func take[T any, P lenient.Imported[T]](o *Objects, list *[]T, object *lenient.Object[T, P]) {
	o.Unreadable = append(o.Unreadable, unreadable(object, object.Unreadable)...)
	*list = append(*list, *object.Fields)
}

// ClusterOf returns the hosted cluster that np names. If spec.clusterName is empty or cannot be decoded, it returns the
// HostedCluster that owns np, or "".
func ClusterOf(np *lenient.NodePool) string {
	if np.Fields.Spec.ClusterName != "" {
		return np.Fields.Spec.ClusterName
	}
	i := slices.IndexFunc(np.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "HostedCluster" })
	if i < 0 {
		return ""
	}
	return np.OwnerReferences[i].Name
}

// maxUnreadable is the maximum number of fields that a problem names.
const maxUnreadable = 3

func unreadable(object client.Object, all []lenient.Unreadable) problem.Problems {
	if len(all) == 0 {
		return nil
	}
	var fields, keys []string
	for _, f := range all[:min(len(all), maxUnreadable)] {
		fields = append(fields, fmt.Sprintf("%s: %s", f.Field, f.Err))
		keys = append(keys, f.Field)
	}
	kind := object.GetObjectKind().GroupVersionKind().Kind
	on := problem.Subject{Kind: kind, Namespace: object.GetNamespace(), Name: object.GetName()}
	name := strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
	return problem.Problems{problem.New(problem.FieldUnreadable, on,
		problem.Args{"kind": {kind}, "object": {name}, "fields": {strings.Join(fields, "; ")}}, keys...)}
}

// ReadPlanInForce reads the text of a plan that is stored in namespace ns. A plan that exists and cannot be read is a
// problem: without a plan, VMs would lose their addresses.
func ReadPlanInForce(ns, text string) (network.Plan, problem.Problems) {
	p, err := network.ReadPlan([]byte(text))
	if err != nil {
		stored := problem.Subject{Kind: "ConfigMap", Namespace: ns, Name: wire.PlanConfigMap}
		return p, problem.Problems{problem.New(problem.PlanUnreadable, stored, problem.Args{"namespace": {ns}, "error": {err.Error()}})}
	}
	return p, nil
}
