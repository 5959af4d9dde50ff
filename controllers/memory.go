// This file holds what the operator remembers of each hosted cluster between two
// reconciles. After a restart nothing is remembered, and all clusters are reconciled.

package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cldmnky/oooi/network"
)

// A memory holds what was last reported of each hosted cluster. The zero value is empty.
type memory struct {
	mu  sync.Mutex
	all map[types.NamespacedName]remembered
}

// A remembered is what was last reported of one hosted cluster.
type remembered struct {
	// lost are the edges for which an Event said that they were lost, while they are.
	lost []network.Subject
	// shared says that a problem was that another hosted cluster uses a network of it.
	shared bool
}

func (m *memory) of(key types.NamespacedName) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key]
}

// replace returns what was remembered before. known is false where nothing was.
func (m *memory) replace(key types.NamespacedName, now remembered) (before remembered, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known = m.all[key]
	if m.all == nil {
		m.all = map[types.NamespacedName]remembered{}
	}
	m.all[key] = now
	return before, known
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}
