// Package files collects the objects of files, and assigns them to hosted clusters. Files are, for example, the output
// of "hcp create --render" or "kubectl get -o yaml", or a must-gather.
package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/nad"
	"github.com/cldmnky/oooi/hcp/spelling"
)

// The kinds of objects that have annotations of oooi, and Routes, in the form "<group> <Kind>".
const (
	kindHostedCluster = "hypershift.openshift.io HostedCluster"
	kindNodePool      = "hypershift.openshift.io NodePool"
	kindNAD           = "k8s.cni.cncf.io NetworkAttachmentDefinition"
	kindService       = "v1 Service"
	kindRoute         = "route.openshift.io Route"
	// kindLegacyRoute is a Route of an early version of OpenShift.
	kindLegacyRoute = "v1 Route"
)

// A Dump collects the objects that matter to hosted clusters. The zero value is empty.
type Dump struct {
	hostedClusters []lenient.HostedCluster
	nodePools      []lenient.NodePool
	nads           []lenient.NetworkAttachmentDefinition
	routes         []lenient.Route
	services       []corev1.Service
	vms            []lenient.VirtualMachineInstance
	nodes          []corev1.Node
	pods           []discoveryv1.EndpointSlice
	plans          []corev1.ConfigMap
	creators       nad.Creators
	devices        nad.DeviceObjects
	// unquoted are the objects with annotations that are not strings.
	unquoted []manifest.Object
	// management is what the files show about the management cluster.
	management management.Cluster
}

// A kind says how a Dump reads the objects of one kind.
type kind struct {
	// name is "<group> <Kind>".
	name       string
	namespaced bool
	add        func([]byte) error
}

func (d *Dump) kinds() []kind {
	out := []kind{
		{kindHostedCluster, true, addTo(&d.hostedClusters)},
		{kindNodePool, true, addTo(&d.nodePools)},
		{kindNAD, true, addTo(&d.nads)},
		{wire.KubeVirtGroup + " VirtualMachineInstance", true, addTo(&d.vms)},
		{kindService, true, addTo(&d.services)},
		{kindRoute, true, addTo(&d.routes)},
		{"discovery.k8s.io EndpointSlice", true, addTo(&d.pods)},
		{"v1 ConfigMap", true, addTo(&d.plans)},
		{"v1 Node", false, addTo(&d.nodes)},
	}
	for name, namespaced := range nad.CreatorKinds() {
		out = append(out, kind{name, namespaced, addTo((*[]nad.Creator)(&d.creators))})
	}
	for _, name := range nad.DeviceKinds() {
		out = append(out, kind{name, false, addTo((*[]nad.DeviceObject)(&d.devices))})
	}
	for _, k := range management.Kinds() {
		out = append(out, kind{k.Group + " " + k.Kind, false, func(object []byte) error {
			var fields map[string]any
			err := json.Unmarshal(object, &fields)
			d.management.Add(k, fields)
			return err
		}})
	}
	return out
}

func addTo[T any](list *[]T) func([]byte) error {
	return func(object []byte) error {
		var t T
		if err := json.Unmarshal(object, &t); err != nil {
			return err
		}
		*list = append(*list, t)
		return nil
	}
}

// Add adds all objects of one file that matter. The error is the first fault. Objects without a fault are added even then.
func (d *Dump) Add(file []byte) error {
	objects, faults := manifest.Read("the file", file)
	var first error
	for _, f := range faults {
		if f.Unread && first == nil {
			first = f
		}
	}
	for _, o := range objects {
		if err := d.AddObject(o); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// AddUnstructured adds one object, as Add does for a file.
func (d *Dump) AddUnstructured(u unstructured.Unstructured) error {
	text, err := json.Marshal(&u)
	if err != nil {
		return err
	}
	return d.Add(text)
}

// Matters reports whether AddObject reads or refuses o. AddObject skips other objects.
func Matters(o manifest.Object) bool {
	k, err := (&Dump{}).kindOf(o)
	return k != nil || err != nil
}

// AddObject adds an object if its kind matters. An object with an error is not added.
func (d *Dump) AddObject(o manifest.Object) error {
	k, err := d.kindOf(o)
	if err == nil && k != nil {
		err = k.addComplete(o)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	if k != nil && len(o.Unquoted) > 0 {
		d.unquoted = append(d.unquoted, o)
	}
	return nil
}

// maxGroupTypos limits the edits in a mistyped API group.
const maxGroupTypos = 3

// kindOf returns the kind of o, or nil if o does not matter. An error means that o looks like one of the known kinds.
// But its group is missing or mistyped, or its kind is in another case or a plural. Of ConfigMaps, only plans matter.
func (d *Dump) kindOf(o manifest.Object) (*kind, error) {
	if strings.EqualFold(o.Kind, "ConfigMap") && o.Name != wire.PlanConfigMap {
		return nil, nil
	}
	own, all := o.GroupKind(), d.kinds()
	if own == kindLegacyRoute {
		own = kindRoute
	}
	if i := slices.IndexFunc(all, func(k kind) bool { return k.name == own }); i >= 0 {
		return &all[i], nil
	}
	for _, k := range all {
		group, name, _ := strings.Cut(k.name, " ")
		alike := strings.EqualFold(o.Kind, name) || strings.EqualFold(o.Kind, name+"s")
		if alike && (!strings.Contains(o.Group, ".") || spelling.Distance(strings.ToLower(o.Group), group) <= maxGroupTypos) {
			return nil, fmt.Errorf("want kind %s of group %s, not kind %s of group %q", name, group, o.Kind, o.Group)
		}
	}
	return nil, nil
}

// addComplete adds o. It returns an error if o lacks a name, or a namespace that its kind needs.
func (k *kind) addComplete(o manifest.Object) error {
	switch {
	case o.Name == "":
		return errors.New("it has no metadata.name")
	case o.Namespace == "" && k.namespaced:
		return errors.New("it has no metadata.namespace, so it belongs to no hosted cluster. Set metadata.namespace")
	}
	return k.add(o.JSON)
}
