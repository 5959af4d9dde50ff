// This file decides how many edges a hosted cluster's networks get, and reads on
// which nodes the user wants them. Where edges land in the end is not decided
// here.

package hcp

import (
	"fmt"
	"maps"
	"strings"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// edgeCount is what the user said, else as many as HyperShift means for what must
// outlive a node. An empty policy is HighlyAvailable: the API's own default.
func edgeCount(hc *hyperv1.HostedCluster, s settings) int {
	switch {
	case s.edges != 0:
		return s.edges
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
	return maps.Clone(s.edgeNodes), s.edgeNodes != nil
}

func edges(v string) (int, error) {
	two, err := oneOf(v, "1", "2")
	switch {
	case err != nil:
		return 0, err
	case two:
		return 2, nil
	}
	return 1, nil
}

// nodeLabels reads key=value, more than one with commas: each key once, since a
// node has one value of it.
func nodeLabels(v string) (map[string]string, error) {
	out := map[string]string{}
	for part := range strings.SplitSeq(v, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) > 0 {
			return nil, fmt.Errorf("%q: want key=value such as vlan100=yes, the label that nodes have; further ones after commas", part)
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("%s is there twice; want one value for each label", key)
		}
		out[key] = value
	}
	return out, nil
}
