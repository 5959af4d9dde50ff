// This file reads the annotations of objects into values: which ones count, and
// which can't be read.

package settings

import (
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
	// CIDRField is where CIDR was set, for people: "annotation cidr on NodePool b".
	// CIDRKey is the annotation without its prefix.
	CIDRField   string
	CIDRKey     string
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
	_, problems := Overlay(Values{}, Place(kind), name, annotations)
	return problems
}

// Overlay lays the annotations of one object over base. A value that can't be read
// blocks: half of what a user asked for is not what the user asked for. A value
// for one NodePool is checked and left out; see ForNodePool.
func Overlay(base Values, at Place, object string, annotations map[string]string) (Values, network.Problems) {
	s := base
	on := subject(at, object)
	var problems network.Problems
	for _, full := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(full, Prefix)
		if !ours {
			continue
		}
		if now, old := renamed(name); old {
			problems = append(problems, network.NewProblem(network.AnnotationRenamed, on, network.Args{"newKey": now}, name))
			continue
		}
		k, known := find(name, at)
		if !known {
			problems = append(problems, unknown(on, name, at))
			continue
		}
		into := &s
		if k.Name != name {
			into = &Values{} // it is for one NodePool
		}
		if err := into.take(k, strings.TrimSpace(annotations[full]), name, on); err != nil {
			problems = append(problems, invalid(on, name, annotations[full], err))
		}
	}
	return s, problems
}

// ForNodePool lays over base what the HostedCluster's annotations say for the
// NodePool by name, and over that the NodePool's own. Addresses of base are left
// out: they are not for every network. The HostedCluster's annotations have been
// checked by Overlay: what can't be read there is left out here.
func ForNodePool(base Values, hostedCluster map[string]string, name string, own map[string]string) (Values, network.Problems) {
	s := base
	s.CIDR, s.Gateway, s.CIDRField, s.CIDRKey = netip.Prefix{}, netip.Addr{}, "", ""
	s.EdgeAddresses, s.DHCPRange, s.DHCPExclude, s.Reservations = nil, network.Range{}, nil, nil
	for _, k := range Keys() {
		key := k.Name + "." + name
		if v, ok := hostedCluster[Prefix+key]; ok && k.PerNodePool {
			_ = s.take(k, strings.TrimSpace(v), key, network.Subject{Kind: "the HostedCluster"})
		}
	}
	return Overlay(s, OnNodePool, name, own)
}

// NodePoolOf is the NodePool that a HostedCluster's annotation is for, by its
// full key; false where it is for the whole cluster or no annotation of oooi.
func NodePoolOf(full string) (name string, ok bool) {
	k, _ := find(strings.TrimPrefix(full, Prefix), OnHostedCluster)
	name, ok = strings.CutPrefix(full, Prefix+k.Name+".")
	return name, ok && k.PerNodePool
}

// take lays one value over s, and records where a CIDR was set.
func (s *Values) take(k Key, value, name string, on network.Subject) error {
	err := k.set(s, value)
	if err == nil && k.Name == KeyCIDR {
		s.CIDRKey, s.CIDRField = name, "annotation "+name+" on "+on.String()
	}
	return err
}

// subject is the object that annotations stand on, by its name or
// "<namespace>/<name>".
func subject(at Place, object string) network.Subject {
	s := network.Subject{Kind: string(at), Name: object}
	if namespace, name, ok := strings.Cut(object, "/"); ok {
		s.Namespace, s.Name = namespace, name
	}
	return s
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
