// This file reads objects from YAML or JSON, such as the output of
// "hcp create --render", a must-gather or "kubectl get -o yaml". It assigns the
// objects to hosted clusters.

package hcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	operatorv1 "github.com/openshift/api/operator/v1"
	routev1 "github.com/openshift/api/route/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/network"
)

// A Dump collects the objects that matter to hosted clusters. The zero value is empty.
type Dump struct {
	hostedClusters []hyperv1.HostedCluster
	// guestIngress has one entry for each of hostedClusters.
	guestIngress []*operatorv1.EndpointPublishingStrategy
	nodePools    []hyperv1.NodePool
	nads         []nadv1.NetworkAttachmentDefinition
	routes       []routev1.Route
	services     []corev1.Service
	vms          []kubevirtv1.VirtualMachineInstance
	nodes        []corev1.Node
	// management are the networks of the management cluster.
	management []network.ReservedDestination
}

// Add reads all documents of one file. It skips objects of other kinds and documents
// that are not objects. Invalid YAML is an error.
func (d *Dump) Add(file []byte) error { return EachObject(file, d.addObject) }

// EachObject calls do with each object in file as JSON, including the items of lists.
// kind is "<group> <Kind>", or "v1 <Kind>" for the core group. Documents that are not
// objects are skipped. Invalid YAML and an error of do end the iteration with that error.
func EachObject(file []byte, do func(kind string, object []byte) error) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(file)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		object, err := yaml.YAMLToJSON(document)
		if err != nil {
			return err
		}
		if err := eachOf(object, do); err != nil {
			return err
		}
	}
}

// eachOf calls do with object, or with each item of a list.
func eachOf(object []byte, do func(kind string, object []byte) error) error {
	var head struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}
	if json.Unmarshal(object, &head) != nil {
		return nil
	}
	if strings.HasSuffix(head.Kind, "List") {
		for _, item := range head.Items {
			if err := eachOf(item, do); err != nil {
				return err
			}
		}
		return nil
	}
	group, _, _ := strings.Cut(head.APIVersion, "/")
	if err := do(group+" "+head.Kind, object); err != nil {
		return fmt.Errorf("%s: %w", head.Kind, err)
	}
	return nil
}

func (d *Dump) addObject(kind string, object []byte) (err error) {
	switch kind {
	case "hypershift.openshift.io HostedCluster":
		d.hostedClusters, err = add(d.hostedClusters, object)
		d.guestIngress = append(d.guestIngress, GuestIngress(object))
	case "hypershift.openshift.io NodePool":
		d.nodePools, err = add(d.nodePools, object)
	case "k8s.cni.cncf.io NetworkAttachmentDefinition":
		d.nads, err = add(d.nads, object)
	case "route.openshift.io Route":
		d.routes, err = add(d.routes, object)
	case "v1 Service":
		d.services, err = add(d.services, object)
	case "v1 Node":
		d.nodes, err = add(d.nodes, object)
	case "kubevirt.io VirtualMachineInstance":
		d.vms, err = add(d.vms, object)
	default:
		return d.addManagement(kind, object)
	}
	return err
}

// addManagement adds the networks of the management cluster that an object has.
func (d *Dump) addManagement(kind string, object []byte) error {
	for _, k := range ManagementKinds() {
		if k.Group+" "+k.Kind != kind {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(object, &fields); err != nil {
			return err
		}
		d.management = append(d.management, ManagementNetworks(k, fields)...)
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

// Clusters returns the objects of each hosted cluster, sorted by namespace and name.
// All have Partial set.
func (d *Dump) Clusters() []Objects {
	var out []Objects
	for i := range d.hostedClusters {
		hc := &d.hostedClusters[i]
		ns := ControlPlaneNamespace(hc)
		out = append(out, Objects{
			HostedCluster: hc,
			GuestIngress:  d.guestIngress[i],
			NodePools: filter(d.nodePools, func(np *hyperv1.NodePool) bool {
				return np.Namespace == hc.Namespace && np.Spec.ClusterName == hc.Name
			}),
			NetworkAttachmentDefinitions: d.nads,
			Routes:                       filter(d.routes, func(r *routev1.Route) bool { return r.Namespace == ns }),
			Services:                     filter(d.services, func(s *corev1.Service) bool { return s.Namespace == ns }),
			VMs:                          filter(d.vms, func(m *kubevirtv1.VirtualMachineInstance) bool { return m.Namespace == ns }),
			Nodes:                        d.nodes,
			Management:                   Management{Networks: d.management},
			Partial:                      true,
		})
	}
	slices.SortFunc(out, func(a, b Objects) int {
		return strings.Compare(a.HostedCluster.Namespace+"/"+a.HostedCluster.Name, b.HostedCluster.Namespace+"/"+b.HostedCluster.Name)
	})
	return out
}

// filter returns the elements of list that match.
func filter[T any](list []T, match func(*T) bool) []T {
	var out []T
	for i := range list {
		if match(&list[i]) {
			out = append(out, list[i])
		}
	}
	return out
}
