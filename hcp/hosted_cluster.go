// Package hcp translates HyperShift's objects into a network.Request and
// network.Facts. Its rooms read a HostedCluster, its NodePools, Routes and Services, and
// NetworkAttachmentDefinitions. No other folder interprets HyperShift's types.
//
// The folder is pure: objects in, values out. It reads values that HyperShift publishes, and does not compute them.
// If a value is not published yet, the plan waits for it.
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

// OptedIn reports whether the annotation network enables oooi for hc. An empty value counts as enabled, and Translate
// refuses it, so that a template that renders an empty value does not remove networks in use.
func OptedIn(hc *hyperv1.HostedCluster) bool {
	_, ok := hc.Annotations[settings.Prefix+network.KeyNetwork]
	return ok && !OptedOut(hc)
}

// OptedOut reports whether the annotation network of hc says that oooi must not serve it. It is false without the
// annotation.
func OptedOut(hc *hyperv1.HostedCluster) bool {
	return objects.Selected(hc) == "none"
}
