// This file decides how many edges a hosted cluster's networks get, and reads on
// which nodes the user wants them. Where edges land in the end is not decided
// here.

package hcp

import (
	"maps"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/hcp/settings"
)

// edgeCount is what the user said, else as many as HyperShift means for what must
// outlive a node. An empty policy is HighlyAvailable: the API's own default.
func edgeCount(hc *hyperv1.HostedCluster, s settings.Values) int {
	switch {
	case s.Edges != 0:
		return s.Edges
	case hc.Spec.ControllerAvailabilityPolicy == hyperv1.SingleReplica:
		return 1
	}
	return 2
}

// EdgeNodeSelector is the labels of the nodes that edges run on, false where
// nobody said: then it is what the NodePools select. What can't be read is said
// by Intent, and counts for nothing here.
func EdgeNodeSelector(o Objects) (map[string]string, bool) {
	s, _ := clusterSettings(o.HostedCluster)
	return maps.Clone(s.EdgeNodes), s.EdgeNodes != nil
}
