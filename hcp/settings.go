// This file decides what a user's annotations say for the cluster and for each
// NodePool: which values hold, which can't be read, and which keys nobody knows.

package hcp

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"

	"github.com/cldmnky/oooi/network"
)

// clusterSettings reads the annotations of hc that speak of the whole cluster.
func clusterSettings(hc *hyperv1.HostedCluster) (settings, network.Problems) {
	return read(settings{}, hc.Annotations, "", false)
}

// nodePoolSettings lays over base what hc says of the NodePool by name, and
// over that what the NodePool says itself.
func nodePoolSettings(base settings, hc *hyperv1.HostedCluster, np hyperv1.NodePool) (settings, network.Problems) {
	s := base
	s.cidr, s.gateway = settings{}.cidr, settings{}.gateway
	var problems network.Problems
	for _, k := range Keys() {
		key := k.Name + "." + np.Name
		if v, ok := hc.Annotations[Prefix+key]; ok && k.PerNodePool {
			if err := k.set(&s, strings.TrimSpace(v)); err != nil {
				problems = append(problems, invalid(Prefix+key, v, err))
			}
		}
	}
	s, ps := read(s, np.Annotations, "NodePool "+np.Name+" ", true)
	return s, append(problems, ps...)
}

// read lays annotations over base. Values that can't be read block: half of
// what a user asked for is not what the user asked for.
func read(base settings, annotations map[string]string, on string, nodePool bool) (settings, network.Problems) {
	s := base
	var problems network.Problems
	for _, full := range slices.Sorted(maps.Keys(annotations)) {
		name, ours := strings.CutPrefix(full, Prefix)
		if !ours {
			continue
		}
		k, known := find(name, nodePool)
		switch {
		case !known:
			problems = append(problems, unknown(on+full, name))
		case k.Name == name:
			if err := k.set(&s, strings.TrimSpace(annotations[full])); err != nil {
				problems = append(problems, invalid(on+full, annotations[full], err))
			}
		}
	}
	return s, problems
}

// find is the row of the table that an annotation is written by: its own name,
// or name.nodepool on the HostedCluster.
func find(name string, nodePool bool) (Key, bool) {
	for _, k := range Keys() {
		if nodePool && k.On != OnBoth {
			continue
		}
		if k.Name == name || !nodePool && k.PerNodePool && strings.HasPrefix(name, k.Name+".") {
			return k, true
		}
	}
	return Key{}, false
}

func invalid(field, value string, err error) network.Problem {
	return network.Problem{Reason: network.AnnotationInvalid, Field: field, Blocking: true,
		Detail: fmt.Sprintf("%s: %q: %v.", field, value, err)}
}

func unknown(field, name string) network.Problem {
	p := network.Problem{Reason: network.AnnotationUnknown, Field: field,
		Detail: fmt.Sprintf("%s has no effect: there is no such annotation here.", field)}
	if near := nearest(name); near != "" {
		p.Detail = fmt.Sprintf("%s has no effect: there is no such annotation here. Did you mean %s%s?", field, Prefix, near)
	}
	return p
}

// nearest is the key at an edit distance of at most three, or "".
func nearest(name string) string {
	best, at := "", 4
	for _, k := range Keys() {
		if d := distance(name, k.Name); d < at {
			best, at = k.Name, d
		}
	}
	return best
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
