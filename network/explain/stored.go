// This file holds the status of one hosted cluster as the operator stores it for programs: `oooi status` reads it. It
// has all problems, and whether nodes boot as a value, which the condition has as text.

package explain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cldmnky/oooi/network"
)

// CurrentStatusVersion is the version of stored statuses. Fields are added without a new number.
const CurrentStatusVersion = 1

// Limits of a stored status. A ConfigMap has at most 1 MiB.
const (
	maxStoredProblems = 200
	maxStoredText     = 2 << 10
)

// A StoredStatus is the status of one hosted cluster as the operator saw it.
type StoredStatus struct {
	Version int `json:"version"`
	// Cluster is NAMESPACE/NAME of the HostedCluster.
	Cluster string `json:"cluster"`
	// Build is the version of the operator that stored it. Empty: one that did not tell.
	Build string `json:"build,omitempty"`
	// Written is when the operator stored it. It stores an equal one again every ten minutes.
	Written time.Time `json:"written"`
	// Generation is that of the HostedCluster which it is about.
	Generation int64 `json:"generation"`
	// Settings is the hash of the annotations that it is about. Empty: not all were read.
	Settings string `json:"settings,omitempty"`
	// Inputs is the hash of the other fields that plans are made from. Empty: not all were read.
	Inputs string `json:"inputs,omitempty"`
	// Plan is the PlanHash of the plan in force, as it is stored. Empty: there is none.
	Plan string `json:"plan,omitempty"`
	// Ready and Reason are those of the condition.
	Ready  bool           `json:"ready"`
	Reason network.Reason `json:"reason"`
	// Boots is whether nodes can boot, and Summary why.
	Boots   Answer `json:"boots"`
	Summary string `json:"summary"`
	// Problems, the most important first.
	Problems []StoredProblem `json:"problems"`
	// Omitted counts further problems.
	Omitted int `json:"omitted,omitempty"`
}

// A StoredProblem is one problem.
type StoredProblem struct {
	Severity network.Severity `json:"severity"`
	Reason   network.Reason   `json:"reason"`
	// Text is what happened, what it means and what to do, at most 2 KiB.
	Text string `json:"text"`
}

// Stored renders s. The caller adds what s does not know: the cluster, the build, the time, the generation and the hashes.
func (s Status) Stored() StoredStatus {
	problems := Ordered(s.Problems)
	if !s.Applied {
		problems = s.unapplied(problems)
	}
	c := s.Condition()
	out := StoredStatus{
		Version: CurrentStatusVersion, Settings: s.Settings, Ready: c.Ready, Reason: c.Reason,
		Boots: s.boots(problems), Summary: s.summary(problems), Problems: []StoredProblem{},
	}
	if out.Settings == "unknown" {
		out.Settings = ""
	}
	for i, p := range problems {
		if i == maxStoredProblems {
			out.Omitted = len(problems) - i
			break
		}
		out.Problems = append(out.Problems, StoredProblem{p.Level(), p.Reason, Shorten(capital(Problem(p).String()), maxStoredText)})
	}
	return out
}

// boots answers whether nodes can boot. problems are ordered. The summary says the same.
func (s Status) boots(problems network.Problems) Answer {
	first := network.Problem{}
	if len(problems) > 0 {
		first = problems[0]
	}
	unread := first.Cause == network.ReadFailed || first.Cause == network.KindNotWatched
	switch {
	case unread, !s.Applied && s.Running, s.Problems.Has(network.Removing) && s.Running:
		return Unknown // Edges serve what they did before.
	case !s.Applied || s.Problems.Has(network.Removing) || first.Cause == network.PausedUnserved:
		if len(s.Plan.Networks) == 0 || boots(s.Plan.Networks) {
			return No
		}
		return Unknown // VMs boot from the pod network.
	}
	for _, n := range s.Plan.Networks {
		if n.Primary && s.ReadyEdges[n.Name] == 0 {
			return No
		}
	}
	_, refused := s.unchanged()
	for _, p := range append(parts(s.Plan.Networks, refused), parts(s.Plan.Networks, s.Problems.Of(network.SeverityWaiting))...) {
		if p.need <= needOnNetwork {
			return No
		}
	}
	for _, p := range s.Problems {
		if p.Reason == network.AddressesExhausted && !onSecondary(s.Plan.Networks, p) {
			return No
		}
	}
	if outlook(s.Plan.Networks, s.Problems) != "" {
		return Unknown
	}
	return Yes
}

// JSON returns s as it is stored.
func (s StoredStatus) JSON() []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic("explain: a status is always JSON: " + err.Error())
	}
	return b
}

// ReadStatus reads the output of StoredStatus.JSON. It ignores unknown fields. A status of a newer version is an error,
// since the meaning of its fields is unknown.
func ReadStatus(b []byte) (StoredStatus, error) {
	var s StoredStatus
	if err := json.Unmarshal(b, &s); err != nil {
		return StoredStatus{}, fmt.Errorf("not a status: %w", err)
	}
	switch {
	case s.Version > CurrentStatusVersion:
		return StoredStatus{}, fmt.Errorf("the status has version %d of the format, and this version of oooi reads up to %d", s.Version, CurrentStatusVersion)
	case s.Version < 1 || s.Cluster == "" || s.Written.IsZero():
		return StoredStatus{}, errors.New("not a status: version, cluster or written is missing")
	}
	if s.Boots != Yes && s.Boots != No {
		s.Boots = Unknown
	}
	return s, nil
}

// PlanHash is a hash of the text of a stored plan, 16 hexadecimal digits. So it does not depend on the version of the program that reads
// the plan. Empty: there is no text.
func PlanHash(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
