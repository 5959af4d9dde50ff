// Package hcp translates HyperShift's objects into a network.Request and
// network.Facts. Its rooms read a HostedCluster, its NodePools, Routes and Services, and
// NetworkAttachmentDefinitions. No other folder interprets HyperShift's types.
//
// The folder is pure: objects in, values out. It reads values that HyperShift publishes and does not compute them. A
// value that is not published yet is waited for.
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

// OptedIn reports whether the annotation network enables oooi for hc. An empty value enables it, and Translate refuses
// it: a template that renders nothing must not remove networks in use.
func OptedIn(hc *hyperv1.HostedCluster) bool {
	_, ok := hc.Annotations[settings.Prefix+network.KeyNetwork]
	return ok && !OptedOut(hc)
}

// OptedOut reports whether the annotation network says that oooi must not serve hc. Without the annotation, it is false.
func OptedOut(hc *hyperv1.HostedCluster) bool {
	return objects.Selected(hc) == "none"
}
