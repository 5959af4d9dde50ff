// This file reads the annotations of objects into Values, and finds invalid keys and values.

package settings

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// Values holds the values that annotations set. A zero field is not set.
type Values struct {
	// Network is auto, none, or <namespace>/<name> of a NetworkAttachmentDefinition.
	Network string
	CIDR    netip.Prefix
	// CIDRField describes where CIDR is set, such as "annotation cidr on NodePool b".
	// CIDRKeys is the annotation key without its prefix.
	CIDRField   string
	CIDRKeys    []string
	Gateway     netip.Addr
	AppsAddress netip.Addr
	// Paused is true, false, or an RFC 3339 time.
	Paused string
	// AllowedHosts is nil if the annotation is not set.
	AllowedHosts *AllowedHosts
	// Publish holds the names and ports at which a Service is published.
	Publish []HostPort
	// Namespaces are the control plane namespaces that may use a
	// NetworkAttachmentDefinition.
	Namespaces []string
	// Edges is 1 or 2, or 0 if it is not set.
	Edges int
	// VMsHere is true if the HostedCluster's credentials for VMs are credentials of this management cluster.
	VMsHere bool
	// ManagementDNS is true if edges answer DNS queries from pods of the management cluster.
	ManagementDNS bool
	// AccessLog is empty if it is not set.
	AccessLog network.AccessLog
	// Access is what is opened to the management cluster.
	Access network.AccessRequest
	// EdgeNodes is a node selector for edges. It is nil if it is not set.
	EdgeNodes map[string]string
	network.Settings
}

// Check validates the annotations of one object. It returns a problem for each invalid value, and for each key without
// effect on that kind.
func Check(kind, name string, annotations map[string]string) problem.Problems {
	_, problems := Overlay(Values{}, Place(kind), name, annotations)
	return problems
}

// maxWithoutEffect is the maximum number of keys without effect that Overlay reports one by one for one object.
const maxWithoutEffect = 16

// Overlay returns base with the values of one object's annotations. An invalid value is an Error, since a partial
// configuration is never applied. Values for one NodePool are checked but not set; see ForNodePool.
func Overlay(base Values, at Place, object string, annotations map[string]string) (Values, problem.Problems) {
	s := base
	on := subject(at, object)
	var problems problem.Problems
	without := 0
	for _, full := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(full, Prefix)
		k, known := find(name, at)
		if !ours || !known {
			meant, wrong := rightPrefix(full, at)
			if ours || wrong {
				without++
			}
			switch {
			case without > maxWithoutEffect:
			case wrong:
				problems = append(problems, problem.New(problem.AnnotationPrefixWrong, on, problem.Args{"meant": {meant}}, full))
			case ours:
				problems = append(problems, unknown(on, name, at))
			}
			continue
		}
		into := &s
		if k.Name != name {
			into = &Values{} // the value is for one NodePool
		}
		if err := into.apply(k, strings.TrimSpace(annotations[full]), name, on); err != nil {
			problems = append(problems, invalid(on, name, annotations[full], err))
		}
	}
	if more := without - maxWithoutEffect; more > 0 {
		problems = append(problems, problem.New(problem.AnnotationsWithoutEffect, on, problem.Args{"count": {strconv.Itoa(more)}}))
	}
	return s, problems
}

// ForNodePool returns the values of one NodePool. The NodePool's own annotations override the HostedCluster's
// annotations for that NodePool, and these override base. Addresses of base are removed, because they belong to one
// network only. Invalid values on the HostedCluster are ignored here, because Overlay reports them.
func ForNodePool(base Values, hostedCluster map[string]string, name string, own map[string]string) (Values, problem.Problems) {
	s := base
	for _, k := range table() {
		if k.For == OneNetwork {
			k.Take(&s, Values{})
		}
		key := k.Name + "." + name
		if v, ok := hostedCluster[Prefix+key]; ok && k.PerNodePool {
			_ = s.apply(k, strings.TrimSpace(v), key, problem.Subject{Kind: "the HostedCluster"})
		}
	}
	return Overlay(s, OnNodePool, name, own)
}

// NodePoolOf returns the name of the NodePool in a HostedCluster's annotation key,
// such as "workers" in "hostedcluster.densityops.com/cidr.workers". ok is false if
// the key names no NodePool or is not an annotation of oooi.
func NodePoolOf(full string) (name string, ok bool) {
	k, _ := find(strings.TrimPrefix(full, Prefix), OnHostedCluster)
	name, ok = strings.CutPrefix(full, Prefix+k.Name+".")
	return name, ok && k.PerNodePool
}

// apply sets one value, and where it was set if messages need that.
func (s *Values) apply(k Key, value, name string, on problem.Subject) error {
	err := k.value.set(s, value)
	if err == nil && k.origin != nil {
		field, keys := k.origin(s)
		*field, *keys = "annotation "+name+" on "+on.String(), []string{name}
	}
	return err
}

// subject returns the object with the annotations. object is its name or "<namespace>/<name>".
func subject(at Place, object string) problem.Subject {
	s := problem.Subject{Kind: string(at), Name: object}
	if namespace, name, ok := strings.Cut(object, "/"); ok {
		s.Namespace, s.Name = namespace, name
	}
	return s
}

// find returns the row for a key without prefix. On the HostedCluster, it may end with ".<nodepool>".
func find(name string, at Place) (Key, bool) {
	for i := range table() {
		if k := &table()[i]; k.isNamed(name, at == OnHostedCluster) && slices.Contains(k.On, at) {
			return *k, true
		}
	}
	return Key{}, false
}

// isNamed reports whether name is k's. With perNodePool, it may end with ".<nodepool>" if k allows that.
func (k *Key) isNamed(name string, perNodePool bool) bool {
	further, ok := strings.CutPrefix(name, k.Name)
	return ok && (further == "" || perNodePool && k.PerNodePool && further[0] == '.')
}
