// This file finds NodePools whose hosted cluster is not in the files, and the hosted cluster that is probably meant.

package files

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/hcp/spelling"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

func ofNodePool(np *lenient.NodePool) types.NamespacedName {
	return types.NamespacedName{Namespace: np.Namespace, Name: objects.ClusterOf(np)}
}

// A stray is a NodePool that names a hosted cluster which is not in the files.
type stray struct {
	*lenient.NodePool
	// meant is the hosted cluster that the NodePool probably belongs to. The zero name is unknown.
	meant types.NamespacedName
}

func (s stray) problem(c problem.Cause) problem.Problem {
	args := problem.Args{"named": {ofNodePool(s.NodePool).String()}}
	if s.meant != (types.NamespacedName{}) {
		args["meant"] = []string{s.meant.String()}
	}
	return problem.New(c, problem.Subject{Kind: string(settings.OnNodePool), Namespace: s.Namespace, Name: s.Name}, args, network.FieldClusterName)
}

func (d *Dump) strays() []stray {
	given, hasPool := map[types.NamespacedName]bool{}, map[types.NamespacedName]bool{}
	for _, hc := range d.hostedClusters {
		given[types.NamespacedName{Namespace: hc.Namespace, Name: hc.Name}] = true
	}
	for i := range d.nodePools {
		hasPool[ofNodePool(&d.nodePools[i])] = true
	}
	var out []stray
	for i := range d.nodePools {
		if np := &d.nodePools[i]; !given[ofNodePool(np)] {
			out = append(out, stray{np, meantBy(ofNodePool(np), given, hasPool)})
		}
	}
	return out
}

// meantBy returns the hosted cluster of given that is probably meant by missing: a similar name in the same namespace,
// else the only cluster with that name, else the only cluster in the namespace without a NodePool. It returns the zero
// name if there is none.
func meantBy(missing types.NamespacedName, given, hasPool map[types.NamespacedName]bool) types.NamespacedName {
	var near []string
	var same, empty []types.NamespacedName
	for k := range given {
		if k.Namespace == missing.Namespace {
			near = append(near, k.Name)
		}
		if k.Name == missing.Name {
			same = append(same, k)
		}
		if k.Namespace == missing.Namespace && !hasPool[k] {
			empty = append(empty, k)
		}
	}
	slices.Sort(near)
	if name, ok := spelling.Nearest(missing.Name, near); ok {
		return types.NamespacedName{Namespace: missing.Namespace, Name: name}
	}
	for _, only := range [][]types.NamespacedName{same, empty} {
		if len(only) == 1 {
			return only[0]
		}
	}
	return types.NamespacedName{}
}

// misnamed returns a problem for each stray that probably belongs to o. It is an Error if o has no other NodePool.
func misnamed(o objects.Objects, strays []stray) problem.Problems {
	var out problem.Problems
	own := types.NamespacedName{Namespace: o.HostedCluster.Namespace, Name: o.HostedCluster.Name}
	for _, s := range strays {
		if s.meant == own {
			out = append(out, s.problem(problem.NodePoolMisnamed))
		}
	}
	if len(o.NodePools) > 0 {
		return out.NotBlocking()
	}
	return out
}

// Strays returns a problem for each stray that probably belongs to no hosted cluster in the files.
func (d *Dump) Strays() problem.Problems {
	var out problem.Problems
	for _, s := range d.strays() {
		if s.meant == (types.NamespacedName{}) {
			out = append(out, s.problem(problem.NodePoolStray))
		}
	}
	return out
}
