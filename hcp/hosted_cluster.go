// Package hcp translates HyperShift's objects into a network.Request and network.Facts. Its packages read a
// HostedCluster, its NodePools, Routes and Services, and NetworkAttachmentDefinitions. No other folder interprets
// HyperShift's types.
//
// The folder is pure: objects in, values out. It reads values that HyperShift publishes and does not compute them.
// While a value is not published, oooi waits for it.
package hcp

import (
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Objects holds all objects that are read about one hosted cluster.
type Objects = objects.Objects

// ControlPlaneNamespace returns the namespace of hc's control plane.
func ControlPlaneNamespace(hc *hyperv1.HostedCluster) string {
	return objects.ControlPlaneNamespace(hc)
}

// OptedIn reports whether hc has the annotation network, with a value that does not opt out. An empty value counts as
// opted in, and Translate refuses it: a template that renders an empty value must not remove networks in use.
func OptedIn(hc *hyperv1.HostedCluster) bool {
	_, ok := hc.Annotations[settings.Prefix+network.KeyNetwork]
	return ok && !OptedOut(hc)
}

// OptedOut reports whether the annotation network of hc is "none". It returns false if hc does not have the annotation.
func OptedOut(hc *hyperv1.HostedCluster) bool {
	return objects.Selected(hc) == "none"
}
