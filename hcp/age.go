// This file decides which of two objects is older. Older HostedClusters, NodePools and
// Services have precedence, so that a new one takes nothing of an older one.

package hcp

import (
	"cmp"
	"slices"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
)

// Older reports whether a was created before b. An object without a creation time does
// not exist yet, so it is the youngest. Namespace and name decide where SameAge is true.
func Older(a, b metav1.Object) bool { return compareAge(a, b) < 0 }

// SameAge reports whether the creation times of a and b do not say which one is older.
func SameAge(a, b metav1.Object) bool { return compareCreation(a, b) == 0 }

// compareAge is negative if a is older than b. It is 0 only if a and b have one name.
func compareAge(a, b metav1.Object) int {
	return cmp.Or(compareCreation(a, b), cmp.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName()))
}

// compareCreation is negative if a has the earlier creation time.
func compareCreation(a, b metav1.Object) int {
	x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	switch {
	case x.IsZero() && y.IsZero():
		return 0
	case x.IsZero():
		return 1
	case y.IsZero():
		return -1
	}
	return x.Compare(y.Time)
}

// cidrByName returns a hint if the CIDR of the HostedCluster applies to the network at
// index home, and only the names of two NodePools say that it is this one.
func cidrByName(o Objects, all []merged, home int, base settings.Values) network.Problems {
	cidr := clusterCIDR(o.HostedCluster, base)
	if home < 0 || all[home].CIDR.IsValid() || !cidr.IsValid() {
		return nil
	}
	bootsFrom := func(np hyperv1.NodePool) int {
		from, boots := bootNetwork(o.HostedCluster, np)
		return slices.IndexFunc(all, func(x merged) bool { return boots && x.Attachment == from })
	}
	pools := slices.DeleteFunc(oldestFirst(o.NodePools), func(np hyperv1.NodePool) bool { return bootsFrom(np) < 0 })
	if bootsFrom(pools[0]) != home {
		return nil // the plan in force decided
	}
	for _, np := range pools[1:] {
		if SameAge(&pools[0], &np) && bootsFrom(np) != home {
			return network.Problems{networkProblem(network.NetworkCIDRByName, all[home].Attachment,
				network.Args{"cidr": cidr.String(), "nodePool": pools[0].Name, "otherNodePool": np.Name},
				settings.KeyCIDR+"."+pools[0].Name, settings.KeyCIDR+"."+np.Name)}
		}
	}
	return nil
}
