// This file finds which object creates a NetworkAttachmentDefinition.

package nad

import (
	"cmp"
	"slices"

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
		// NamespaceSelector is that of a ClusterUserDefinedNetwork.
		NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
	} `json:"spec"`
}

// CreatorKinds returns the kinds of Creators, in the form "<group> <Kind>", and whether they have a namespace.
func CreatorKinds() map[string]bool {
	return map[string]bool{"k8s.ovn.org ClusterUserDefinedNetwork": false, "k8s.ovn.org UserDefinedNetwork": true, "sriovnetwork.openshift.io SriovNetwork": true}
}

// Creators are objects that create NetworkAttachmentDefinitions.
type Creators []Creator

// Of returns the Creator of a. ok is false if there is none.
func (all Creators) Of(a network.Attachment) (by Owner, ok bool) {
	i := slices.IndexFunc(all, func(c Creator) bool { return c.Name == a.Name && c.creates(a.Namespace) })
	if i < 0 {
		return Owner{}, false
	}
	return Owner{Kind: all[i].Kind, Name: all[i].Name}, true
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
