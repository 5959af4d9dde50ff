// This file reads the annotations of objects into values: which ones count, and
// which can't be read.

package settings

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/network"
)

// Values are what annotations set. A zero field was not set.
type Values struct {
	// Network is auto, none, or <namespace>/<name> of a NetworkAttachmentDefinition.
	Network string
	CIDR    netip.Prefix
	// CIDRField is where CIDR was set: the object and the annotation's full key.
	CIDRField   string
	Gateway     netip.Addr
	AppsAddress netip.Addr
	// Paused is true, false, or an RFC 3339 time.
	Paused string
	// AllowedHosts is nil where it was not set.
	AllowedHosts *AllowedHosts
	// Publish is where a Service is published.
	Publish []HostPort
	// Edges is 1 or 2, or 0 where it was not set.
	Edges int
	// EdgeNodes are labels of the nodes that edges run on, nil where not set.
	EdgeNodes map[string]string
	network.Settings
}

// Check holds the annotations of one object against the table, without a
// cluster: values that can't be read, and keys that have no effect there.
func Check(kind, name string, annotations map[string]string) network.Problems {
	_, problems := Over(Values{}, Place(kind), name, annotations)
	return problems
}

// Over lays the annotations of one object over base. A value that can't be read
// blocks: half of what a user asked for is not what the user asked for. A value
// for one NodePool is checked and left out; see ForNodePool.
func Over(base Values, at Place, object string, annotations map[string]string) (Values, network.Problems) {
	s := base
	on := string(at) + " " + object + " "
	if at == OnHostedCluster {
		on = ""
	}
	var problems network.Problems
	for _, full := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(full, Prefix)
		if !ours {
			continue
		}
		if now, old := renamed(name); old {
			problems = append(problems, invalid(on+full, annotations[full], fmt.Errorf("renamed to %s%s", Prefix, now)))
			continue
		}
		k, known := find(name, at)
		if !known {
			problems = append(problems, unknown(on+full, name, at))
			continue
		}
		into := &s
		if k.Name != name {
			into = &Values{} // it is for one NodePool
		}
		if err := into.take(k, strings.TrimSpace(annotations[full]), on+full); err != nil {
			problems = append(problems, invalid(on+full, annotations[full], err))
		}
	}
	return s, problems
}

// ForNodePool lays over base what the HostedCluster's annotations say for the
// NodePool by name, and over that the NodePool's own. Addresses of base are left
// out: they are not for every network. The HostedCluster's annotations have been
// checked by Over: what can't be read there is left out here.
func ForNodePool(base Values, hostedCluster map[string]string, name string, own map[string]string) (Values, network.Problems) {
	s := base
	s.CIDR, s.Gateway, s.CIDRField = netip.Prefix{}, netip.Addr{}, ""
	s.EdgeAddresses, s.DHCPRange, s.DHCPExclude, s.Reservations = nil, network.Range{}, nil, nil
	for _, k := range Keys() {
		key := Prefix + k.Name + "." + name
		if v, ok := hostedCluster[key]; ok && k.PerNodePool {
			_ = s.take(k, strings.TrimSpace(v), key)
		}
	}
	return Over(s, OnNodePool, name, own)
}

// NodePoolOf is the NodePool that a HostedCluster's annotation is for, by its
// full key; false where it is for the whole cluster or no annotation of oooi.
func NodePoolOf(full string) (name string, ok bool) {
	k, _ := find(strings.TrimPrefix(full, Prefix), OnHostedCluster)
	name, ok = strings.CutPrefix(full, Prefix+k.Name+".")
	return name, ok && k.PerNodePool
}

// take lays one value over s, and records where a CIDR was set.
func (s *Values) take(k Key, value, field string) error {
	err := k.set(s, value)
	if err == nil && k.Name == KeyCIDR {
		s.CIDRField = field
	}
	return err
}

// find is the row of the table that an annotation is written by: its own name,
// or name.nodepool on the HostedCluster.
func find(name string, at Place) (Key, bool) {
	for _, k := range Keys() {
		byNodePool := at == OnHostedCluster && k.PerNodePool && strings.HasPrefix(name, k.Name+".")
		if slices.Contains(k.On, at) && (k.Name == name || byNodePool) {
			return k, true
		}
	}
	return Key{}, false
}

func invalid(field, value string, err error) network.Problem {
	return network.Problem{Reason: network.AnnotationInvalid, Field: field, Blocking: true,
		Detail: fmt.Sprintf("%s: %q: %v.", field, value, err)}
}
