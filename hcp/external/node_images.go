// This file lists the images that nodes pull besides those that releases name. The list is from HyperShift's source, in
// all versions that docs/install.md names. Images of the payload come from the registry of the release, or from its
// mirrors.
//
//	image                            set by                                        read in HyperShift
//	konnectivity agent, a DaemonSet  annotation konnectivity-agent-image           hostedclusterconfigoperator, konnectivity/params.go
//	proxy to the API, a static pod   annotation haproxy-image on the NodePool      nodepool_controller.go, resolveHAProxyImage
//	  the same, with an HTTPS proxy  annotation control-plane-operator-image,      support/util, GetControlPlaneOperatorImage
//	                                 or named by the release of the control plane
//	any of the payload               annotation image-overrides                    control-plane-operator/main.go
//	catalogs of OLM in the cluster   spec.olmCatalogPlacement: guest               support/catalogs/images.go
//
// The catalog-image annotations count only where catalogs run in the management cluster.

package external

import (
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/imageref"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/reach"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

const (
	// haproxyImageAnnotation is an annotation of NodePools since HyperShift 0.1.71.
	haproxyImageAnnotation = "hypershift.openshift.io/haproxy-image"
	// catalogRegistry has OLM's catalogs. They are pulled by tag, and mirrors are for digests only, so mirrors do not apply.
	catalogRegistry = "registry.redhat.io/redhat"
	// catalogRegistriesAnnotation replaces the registries of catalogs: "registry.redhat.io=mirror,...".
	catalogRegistriesAnnotation = "hypershift.openshift.io/olm-catalogs-is-registry-overrides"
)

// ofControlPlane are images of the payload that run in the control plane, never on nodes.
var ofControlPlane = []string{"cluster-policy-controller", "cluster-version-operator", "etcd", "oauth-apiserver", "oauth-server", "openshift-apiserver", "openshift-controller-manager"}

// nodeImages returns the images outside the payload of the release that nodes need. Some may be empty strings.
func nodeImages(o objects.Objects) []string {
	hc := o.HostedCluster
	images := []string{hc.Annotations[hyperv1.KonnectivityAgentImageAnnotation]}
	if pullsControlPlaneOperator(hc) {
		images = append(images, hc.Annotations[hyperv1.ControlPlaneOperatorImageAnnotation])
	}
	for _, np := range o.NodePools {
		images = append(images, strings.TrimSpace(np.Annotations[haproxyImageAnnotation]))
	}
	return append(images, imageref.Replacements(hc.Annotations[hyperv1.ImageOverridesAnnotation], ofControlPlane...)...)
}

// pullsControlPlaneOperator reports whether nodes may pull the image of the control plane operator.
func pullsControlPlaneOperator(hc *hyperv1.HostedCluster) bool {
	c := hc.Spec.Configuration
	return c != nil && c.Proxy != nil && c.Proxy.HTTPSProxy != ""
}

// catalogs returns an image of the catalogs that run on nodes, or "". Nodes become Ready without them.
func catalogs(hc *hyperv1.HostedCluster) string {
	c := hc.Spec.Configuration
	if hc.Spec.OLMCatalogPlacement != hyperv1.GuestOLMCatalogPlacement || c != nil && c.OperatorHub != nil && c.OperatorHub.DisableAllDefaultSources {
		return ""
	}
	for entry := range strings.SplitSeq(hc.Annotations[catalogRegistriesAnnotation], ",") {
		// HyperShift does not trim spaces (ConvertImageRegistryOverrideStringToMap in support/util/util.go).
		if of, by, ok := strings.Cut(entry, "="); ok && by != "" && (of == catalogRegistry || catalogRegistry == of+"/redhat") {
			return by
		}
	}
	return catalogRegistry
}

// catalogsUnreachable returns a problem if nodes do not reach the registry of catalogs.
func catalogsUnreachable(hc *hyperv1.HostedCluster, all reach.Set) problem.Problems {
	at := imageref.Dialed(catalogs(hc))
	if at == "" || all.Reaches(at) {
		return nil
	}
	return problem.Problems{problem.New(problem.CatalogsUnreachable, problem.Subject{}, problem.Args{"hosts": reach.WithoutScheme([]string{at})}, "spec.olmCatalogPlacement", network.KeyAllowedHosts)}
}
