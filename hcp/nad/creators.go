// This file finds which object creates a NetworkAttachmentDefinition.

package nad

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/cldmnky/oooi/network"
)

// A Creator is a ClusterUserDefinedNetwork or UserDefinedNetwork of OVN-Kubernetes, or an SriovNetwork. It creates
// NetworkAttachmentDefinitions with its own name.
type Creator struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		// NetworkNamespace is that of an SriovNetwork. Empty: its own namespace.
		NetworkNamespace string `json:"networkNamespace"`
		// ResourceName of an SriovNetwork is without its prefix.
		ResourceName string `json:"resourceName"`
		VLAN         int    `json:"vlan"`
		SpoofCheck   string `json:"spoofChk"`
		Trust        string `json:"trust"`
		// IPAM is JSON.
		IPAM string `json:"ipam"`
		// NamespaceSelector is that of a ClusterUserDefinedNetwork.
		NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
		// Network is that of a ClusterUserDefinedNetwork. A UserDefinedNetwork has its fields in spec.
		Network userDefined `json:"network"`
		userDefined
	} `json:"spec"`
}

// A userDefined is a network of OVN-Kubernetes. layer3 is left out, because edges join none.
type userDefined struct {
	Topology string      `json:"topology"`
	Layer2   userNetwork `json:"layer2"`
	Localnet userNetwork `json:"localnet"`
}

type userNetwork struct {
	Role                string   `json:"role"`
	Subnets             []string `json:"subnets"`
	MTU                 int      `json:"mtu"`
	PhysicalNetworkName string   `json:"physicalNetworkName"`
	VLAN                struct {
		Access struct {
			ID int `json:"id"`
		} `json:"access"`
	} `json:"vlan"`
}

// CreatorKinds returns the kinds of Creators, in the form "<group> <Kind>", and whether they have a namespace.
func CreatorKinds() map[string]bool {
	return map[string]bool{"k8s.ovn.org ClusterUserDefinedNetwork": false, "k8s.ovn.org UserDefinedNetwork": true, "sriovnetwork.openshift.io SriovNetwork": true}
}

// Creators are objects that create NetworkAttachmentDefinitions.
type Creators []Creator

// Of returns the Creator of a, as UserDefined, and the NetworkAttachmentDefinition that it creates. Its Config is empty if
// unknown. ok is false if there is no Creator.
func (all Creators) Of(a network.Attachment) (o Object, ok bool) {
	i := slices.IndexFunc(all, func(c Creator) bool { return c.Name == a.Name && c.creates(a.Namespace) })
	if i < 0 {
		return Object{}, false
	}
	o = Object{Namespace: a.Namespace, Name: a.Name, Config: all[i].config(a), UserDefined: Owner{Kind: all[i].Kind, Name: all[i].Name}}
	if name := all[i].Spec.ResourceName; name != "" {
		o.ResourceName = sriovPrefix + name
		o.Config = all[i].sriovConfig()
	}
	return o, true
}

// sriovPrefix is the default prefix of resources of OpenShift's SR-IOV operator.
const sriovPrefix = "openshift.io/"

// sriovConfig returns the parts that plans depend on of the configuration that the SR-IOV operator creates for c
// (RenderNetAttDef in its api/v1/helper.go).
func (c Creator) sriovConfig() string {
	var ipam any = c.Spec.IPAM
	_ = json.Unmarshal([]byte(c.Spec.IPAM), &ipam) // Other text assigns addresses, too.
	conf := map[string]any{"cniVersion": "1.0.0", "name": c.Name, "type": typeSRIOV, "vlan": c.Spec.VLAN, "spoofchk": c.Spec.SpoofCheck, "trust": c.Spec.Trust}
	if ipam != "" {
		conf["ipam"] = ipam
	}
	return encoded(conf)
}

// config returns the configuration of a that OVN-Kubernetes creates for c (renderCNINetworkConfig in its
// go-controller/pkg/clustermanager/userdefinednetwork/template).
func (c Creator) config(a network.Attachment) string {
	of, name := c.Spec.userDefined, a.Namespace+"_"+a.Name
	if c.Namespace == "" {
		of, name = c.Spec.Network, "cluster_udn_"+a.Name
	}
	if of.Topology == "" {
		return ""
	}
	topology := strings.ToLower(of.Topology)
	n := map[string]userNetwork{topologyLayer2: of.Layer2, topologyLocalnet: of.Localnet}[topology]
	conf := map[string]any{"cniVersion": "1.0.0", "type": typeOVN, "name": name, "netAttachDefName": a.Namespace + "/" + a.Name, "topology": topology,
		"role": strings.ToLower(n.Role)}
	for key, v := range map[string]any{"subnets": strings.Join(n.Subnets, ","), "mtu": n.MTU, "physicalNetworkName": n.PhysicalNetworkName, "vlanID": n.VLAN.Access.ID} {
		if v != "" && v != 0 {
			conf[key] = v
		}
	}
	return encoded(conf)
}

// creates reports whether c creates a NetworkAttachmentDefinition in namespace ns. The labels of ns are unknown, except
// for its name. If another one decides, the result is true.
func (c Creator) creates(ns string) bool {
	if c.Namespace != "" {
		return cmp.Or(c.Spec.NetworkNamespace, c.Namespace) == ns
	}
	selector, err := metav1.LabelSelectorAsSelector(c.Spec.NamespaceSelector)
	if err != nil {
		return false
	}
	known := labels.Set{"kubernetes.io/metadata.name": ns}
	requirements, _ := selector.Requirements()
	return c.Spec.NamespaceSelector != nil && !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return known.Has(r.Key()) && !r.Matches(known) })
}
