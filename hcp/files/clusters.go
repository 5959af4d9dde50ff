// This file assigns the objects of files to hosted clusters.

package files

import (
	"slices"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Clusters returns the objects of each hosted cluster, sorted by namespace and name,
// with Partial set.
func (d *Dump) Clusters() []objects.Objects {
	var out []objects.Objects
	strays := d.strays()
	for i := range d.hostedClusters {
		o := objects.Objects{Nodes: d.nodes, Management: d.management, NADCreators: d.creators, Devices: d.devices, Partial: true}
		o.SetHostedCluster(&d.hostedClusters[i])
		hc := o.HostedCluster
		ns := objects.ControlPlaneNamespace(hc)
		o.AddNodePools(d.nodePools)
		o.AddVMs(filter(d.vms, func(m *lenient.VirtualMachineInstance) bool { return m.Namespace == ns }))
		o.AddRoutes(filter(d.routes, func(r *lenient.Route) bool { return r.Namespace == ns }))
		o.Services = filter(d.services, func(s *corev1.Service) bool { return s.Namespace == ns })
		o.Pods = management.PodAddresses(filter(d.pods, func(s *discoveryv1.EndpointSlice) bool { return s.Namespace == ns }))
		o.AddNADs(d.nads)
		o.Unreadable = append(o.Unreadable, d.unquotedOf(o)...)
		o.Misnamed = misnamed(o, strays)
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b objects.Objects) int {
		return strings.Compare(a.HostedCluster.Namespace+"/"+a.HostedCluster.Name, b.HostedCluster.Namespace+"/"+b.HostedCluster.Name)
	})
	return out
}

func filter[T any](list []T, match func(*T) bool) []T {
	var out []T
	for i := range list {
		if match(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}

// PlanInForce returns the plan that the edges of hc serve, or the zero Plan if the files do not have it. It returns a
// problem if the plan is unreadable.
func (d *Dump) PlanInForce(hc *hyperv1.HostedCluster) (network.Plan, problem.Problems) {
	ns := objects.ControlPlaneNamespace(hc)
	i := slices.IndexFunc(d.plans, func(c corev1.ConfigMap) bool { return c.Namespace == ns && isFor(c, hc.Name) })
	if i < 0 {
		return network.Plan{}, nil
	}
	return objects.ReadPlanInForce(ns, d.plans[i].Data[wire.PlanKey])
}

// HasVMs reports whether the files have any VM. If not, it is unknown whether VMs run.
func (d *Dump) HasVMs() bool { return len(d.vms) > 0 }

// AssumingVMs returns o as if a VM used each network of last, the plan in force. It is for files without VMs.
func AssumingVMs(o objects.Objects, last network.Plan) objects.Objects {
	o.VMs = slices.Clone(o.VMs)
	for _, n := range last.Networks {
		var vm lenient.VirtualMachineInstance
		vm.Namespace = objects.ControlPlaneNamespace(o.HostedCluster)
		if !n.Primary {
			vm.Spec.Networks = []lenient.VMNetwork{{Name: "default"}}
		}
		vm.Spec.Networks = append(vm.Spec.Networks, lenient.VMNetwork{Name: n.Name, Multus: &lenient.VMMultus{NetworkName: n.Attachment.String()}})
		o.VMs = append(o.VMs, vm)
	}
	return o
}

// isFor reports whether c belongs to the HostedControlPlane with the name controlPlane. A ConfigMap that no
// HostedControlPlane owns belongs to each.
func isFor(c corev1.ConfigMap, controlPlane string) bool {
	its := slices.DeleteFunc(slices.Clone(c.OwnerReferences), func(o metav1.OwnerReference) bool { return o.Kind != "HostedControlPlane" })
	return len(its) == 0 || slices.ContainsFunc(its, func(o metav1.OwnerReference) bool { return o.Name == controlPlane })
}

// PlaceOf returns the kind of o as a place of annotations. ok is false if annotations of oooi have no
// effect on o.
func PlaceOf(o manifest.Object) (at settings.Place, ok bool) {
	switch o.GroupKind() {
	case kindHostedCluster, kindNodePool, kindNAD, kindService:
		return settings.Place(o.Kind), true
	}
	return "", false
}

// NameOf returns how problems of annotations name o. Only a NetworkAttachmentDefinition needs its namespace: all other
// objects of a hosted cluster are in one namespace.
func NameOf(o manifest.Object) string {
	if o.GroupKind() == kindNAD {
		return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
	}
	return o.Name
}

func (d *Dump) unquotedOf(o objects.Objects) problem.Problems {
	var out problem.Problems
	for _, x := range d.unquoted {
		at, ok := PlaceOf(x)
		if ok && Has(o, x) {
			out = append(out, settings.Unquoted(at, NameOf(x), x.Annotations, x.Unquoted)...)
		}
	}
	return out
}

// Has reports whether x, an object of a kind with annotations, belongs to the hosted cluster of o.
func Has(o objects.Objects, x manifest.Object) bool {
	hc := o.HostedCluster
	switch x.GroupKind() {
	case kindHostedCluster:
		return x.Namespace == hc.Namespace && x.Name == hc.Name
	case kindNodePool:
		return slices.ContainsFunc(o.NodePools, func(np hyperv1.NodePool) bool { return np.Namespace == x.Namespace && np.Name == x.Name })
	case kindNAD:
		return slices.ContainsFunc(objects.NamedNADs(o), func(a network.Attachment) bool { return a.Namespace == x.Namespace && a.Name == x.Name })
	}
	return x.GroupKind() == kindService && x.Namespace == objects.ControlPlaneNamespace(hc)
}
