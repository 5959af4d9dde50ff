// Package files collects the objects of files, such as the output of "hcp create --render", a
// must-gather or "kubectl get -o yaml", and assigns them to hosted clusters.
package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/management"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// The namespaced kinds that a Dump reads, as "<group> <Kind>".
const (
	kindHostedCluster = "hypershift.openshift.io HostedCluster"
	kindNodePool      = "hypershift.openshift.io NodePool"
	kindNAD           = "k8s.cni.cncf.io NetworkAttachmentDefinition"
	kindVM            = "kubevirt.io VirtualMachineInstance"
	kindService       = "v1 Service"
	kindRoute         = "route.openshift.io Route"
	kindSlice         = "discovery.k8s.io EndpointSlice"
	kindConfigMap     = "v1 ConfigMap"
	// kindNode has no namespace.
	kindNode = "v1 Node"
	// kindLegacyRoute is how early versions of OpenShift wrote a Route.
	kindLegacyRoute = "v1 Route"
)

// namespacedKinds are the kinds with a namespace that a Dump reads.
func namespacedKinds() []string {
	return []string{kindHostedCluster, kindNodePool, kindNAD, kindVM, kindService, kindRoute, kindSlice, kindConfigMap}
}

// dumpKinds are all kinds that a Dump reads.
func dumpKinds() []string {
	out := append(namespacedKinds(), kindNode)
	for _, k := range management.Kinds() {
		out = append(out, k.Group+" "+k.Kind)
	}
	return out
}

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
	// plans are the ConfigMaps with the plans in force.
	plans []corev1.ConfigMap
	// unquoted are the objects with annotations that are not strings.
	unquoted []manifest.Object
	// management are the networks of the management cluster.
	management []network.ReservedDestination
}

// Add reads all objects of one file, and skips objects of other kinds. The error names the first fault
// that leaves something unread; the rest is added.
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

// Matters reports whether AddObject reads o, or refuses it.
func Matters(o manifest.Object) bool {
	kind, err := kindOf(o)
	return kind != "" || err != nil
}

// AddObject adds an object, unless it is of a kind that does not matter. An error says why it cannot
// be read; then it is not added.
func (d *Dump) AddObject(o manifest.Object) error {
	kind, err := kindOf(o)
	if err == nil && kind != "" {
		err = complete(o, kind)
	}
	if err == nil {
		err = d.addObject(kind, o.JSON)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o, err)
	}
	if kind != "" && len(o.Unquoted) > 0 {
		d.unquoted = append(d.unquoted, o)
	}
	return nil
}

// maxGroupTypos is how many characters of a mistyped API group differ at most.
const maxGroupTypos = 3

// kindOf returns which of dumpKinds o is of, or "". An error means that o looks like one of them and is not:
// its group is missing or mistyped, or its kind is in another case or a plural. Of ConfigMaps, only plans matter.
func kindOf(o manifest.Object) (string, error) {
	if strings.EqualFold(o.Kind, "ConfigMap") && o.Name != wire.PlanConfigMap {
		return "", nil
	}
	known := dumpKinds()
	switch own := o.GroupKind(); {
	case own == kindLegacyRoute:
		return kindRoute, nil
	case slices.Contains(known, own):
		return own, nil
	}
	for _, k := range known {
		group, kind, _ := strings.Cut(k, " ")
		alike := strings.EqualFold(o.Kind, kind) || strings.EqualFold(o.Kind, kind+"s")
		if alike && (!strings.Contains(o.Group, ".") || settings.Distance(strings.ToLower(o.Group), group) <= maxGroupTypos) {
			return "", fmt.Errorf("want kind %s of group %s, not kind %s of group %q", kind, group, o.Kind, o.Group)
		}
	}
	return "", nil
}

// complete returns an error if o does not say which object of its kind it is.
func complete(o manifest.Object, kind string) error {
	switch {
	case o.Name == "":
		return errors.New("it has no metadata.name")
	case o.Namespace == "" && slices.Contains(namespacedKinds(), kind):
		return errors.New("it has no metadata.namespace, so it belongs to no hosted cluster. Set metadata.namespace")
	}
	return nil
}

func (d *Dump) addObject(kind string, object []byte) (err error) {
	switch kind {
	case kindHostedCluster:
		d.hostedClusters, err = add(d.hostedClusters, object)
	case kindNodePool:
		d.nodePools, err = add(d.nodePools, object)
	case kindNAD:
		d.nads, err = add(d.nads, object)
	case kindRoute:
		d.routes, err = add(d.routes, object)
	case kindService:
		d.services, err = add(d.services, object)
	case kindSlice:
		d.pods, err = add(d.pods, object)
	case kindNode:
		d.nodes, err = add(d.nodes, object)
	case kindVM:
		d.vms, err = add(d.vms, object)
	case kindConfigMap:
		d.plans, err = add(d.plans, object)
	default:
		return d.addManagement(kind, object)
	}
	return err
}

// addManagement adds the networks of the management cluster that an object has.
func (d *Dump) addManagement(kind string, object []byte) error {
	for _, k := range management.Kinds() {
		if k.Group+" "+k.Kind != kind {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(object, &fields); err != nil {
			return err
		}
		d.management = append(d.management, management.Networks(k, fields)...)
	}
	return nil
}

// add appends the object in JSON to list.
func add[T any](list []T, object []byte) ([]T, error) {
	var t T
	if err := json.Unmarshal(object, &t); err != nil {
		return nil, err
	}
	return append(list, t), nil
}
