// This file decides what a user's annotations say for the cluster and for each
// NodePool: which values hold, which can't be read, and which keys nobody knows.

package hcp

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cldmnky/oooi/network"
)

// Annotations holds those annotations of one object that are ours against the
// table: values that can't be read, and keys that have no effect there. It needs
// no cluster, and looks at this object alone.
func Annotations(kind, name string, annotations map[string]string) network.Problems {
	_, problems := read(settings{}, Place(kind), name, annotations)
	return problems
}

// clusterSettings reads the annotations of hc that speak of the whole cluster.
func clusterSettings(hc *hyperv1.HostedCluster) (settings, network.Problems) {
	return read(settings{}, OnHostedCluster, hc.Name, hc.Annotations)
}

// nodePoolSettings lays over base what hc says of the NodePool by name, and
// over that what the NodePool says itself. What base says of addresses is left
// out: it is not for every network.
func nodePoolSettings(base settings, hc *hyperv1.HostedCluster, np hyperv1.NodePool) (settings, network.Problems) {
	s := base
	s.cidr, s.gateway, s.cidrField = netip.Prefix{}, netip.Addr{}, ""
	s.EdgeAddresses, s.DHCPRange, s.DHCPExclude, s.Reservations = nil, network.Range{}, nil, nil
	for _, k := range Keys() {
		key := Prefix + k.Name + "." + np.Name
		if v, ok := hc.Annotations[key]; ok && k.PerNodePool {
			// What can't be read was said with the HostedCluster.
			_ = s.take(k, strings.TrimSpace(v), key)
		}
	}
	return read(s, OnNodePool, np.Name, np.Annotations)
}

// publishedBy is where a Service of the control plane namespace asks to be
// published.
func publishedBy(svc corev1.Service) ([]hostPort, network.Problems) {
	s, problems := read(settings{}, OnService, svc.Name, svc.Annotations)
	return s.publish, problems
}

// read lays the annotations of one object over base. Values that can't be read
// block: half of what a user asked for is not what the user asked for.
func read(base settings, at Place, object string, annotations map[string]string) (settings, network.Problems) {
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
		k, known := find(name, at)
		if !known {
			problems = append(problems, unknown(on+full, name, at))
			continue
		}
		into := &s
		if k.Name != name {
			into = &settings{} // it speaks of one NodePool
		}
		if err := into.take(k, strings.TrimSpace(annotations[full]), on+full); err != nil {
			problems = append(problems, invalid(on+full, annotations[full], err))
		}
	}
	return s, problems
}

// take lays one value over s, and remembers where a CIDR was said.
func (s *settings) take(k Key, value, field string) error {
	err := k.set(s, value)
	if err == nil && k.Name == keyCIDR {
		s.cidrField = field
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

// unknown says of a key without effect where it has one, or which was meant.
func unknown(field, name string, at Place) network.Problem {
	p := network.Problem{Reason: network.AnnotationUnknown, Field: field}
	near, ok := nearest(name, at)
	switch {
	case ok && near.Name == name:
		p.Detail = fmt.Sprintf("%s has no effect here: it may stand on %s.", field, near.On)
	case ok:
		p.Detail = fmt.Sprintf("%s has no effect: there is no such annotation here. Did you mean %s%s?", field, Prefix, near.Name)
	default:
		p.Detail = fmt.Sprintf("%s has no effect: there is no such annotation here.", field)
	}
	return p
}

// nearest is the key at the smallest edit distance, which is at most three: of
// that place, or the very key of another.
func nearest(name string, at Place) (best Key, ok bool) {
	least := 4
	for _, k := range Keys() {
		d := distance(name, k.Name)
		if d < least && (d == 0 || slices.Contains(k.On, at)) {
			best, least = k, d
		}
	}
	return best, least < 4
}

// distance is Levenshtein's, by bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Paused says whether nothing of hc may be changed at this time, by our
// annotation or by spec.pausedUntil. A value that can't be read does not pause.
func Paused(hc *hyperv1.HostedCluster, now time.Time) bool {
	said := []string{hc.Annotations[Prefix+"paused"]}
	if p := hc.Spec.PausedUntil; p != nil {
		said = append(said, *p)
	}
	for _, v := range said {
		if until, err := time.Parse(time.RFC3339, v); strings.EqualFold(v, "true") || err == nil && now.Before(until) {
			return true
		}
	}
	return false
}
