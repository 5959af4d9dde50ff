// This file remembers the neighbors of each hosted cluster. They are reconciled when it leaves a network, which
// nothing else reports then.

package controllers

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cldmnky/oooi/derive"
)

// neighborhoods remember which neighbors each hosted cluster had at its last pass. The zero value
// is empty.
type neighborhoods struct {
	mu sync.Mutex
	of map[types.NamespacedName][]string
}

// replace sets the neighbors of key. None: it is forgotten.
func (n *neighborhoods) replace(key types.NamespacedName, others []derive.OtherCluster) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[types.NamespacedName][]string{}
	}
	delete(n.of, key)
	for _, o := range others {
		n.of[key] = append(n.of[key], o.Name)
	}
}

// around are the clusters that had key as a neighbor.
func (n *neighborhoods) around(key types.NamespacedName) []reconcile.Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []reconcile.Request
	for k, others := range n.of {
		if slices.Contains(others, key.String()) {
			out = append(out, reconcile.Request{NamespacedName: k})
		}
	}
	return out
}
