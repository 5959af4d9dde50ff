// This file holds the Report: what the operator says about one hosted cluster, as one value. It is stored for `oooi
// status` and for the operator's next start. The condition and Events are made from it.

package explain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cldmnky/oooi/network/problem"
)

// CurrentReportVersion is the version of stored Reports. Fields are added without a new number.
const CurrentReportVersion = 1

// Limits of a stored Report in bytes. A ConfigMap has at most 1 MiB.
const (
	maxStoredProblems = 512 << 10
	maxStoredText     = 2 << 10
)

// An Answer is the answer to a yes-or-no question.
type Answer string

const (
	Yes     Answer = "yes"
	No      Answer = "no"
	Unknown Answer = "unknown"
)

// A Report is what the operator says about one hosted cluster. It has no plan: edges watch the plan, and must not wake
// at each Report.
type Report struct {
	Version int `json:"version"`
	// Cluster is NAMESPACE/NAME of the HostedCluster.
	Cluster string `json:"cluster"`
	// Build is the version of the operator that stored the Report. Empty: unknown.
	Build string `json:"build,omitempty"`
	// Written is when the operator stored the Report. Even an unchanged Report is stored again every ten minutes.
	Written time.Time `json:"written"`
	// Generation is the generation of the HostedCluster that the Report is about.
	Generation int64 `json:"generation"`
	// Settings is the hash of the annotations that the Report is about. Empty: not all were read.
	Settings string `json:"settings,omitempty"`
	// Inputs is the hash of the other fields that plans are made from. Empty: not all were read.
	Inputs string `json:"inputs,omitempty"`
	// Plan is the PlanHash of the plan in force, as it is stored. Empty: there is none.
	Plan string `json:"plan,omitempty"`
	// Ready and Reason are those of the condition. Ready is true exactly if VerdictOf is Serves and Boots is not No.
	Ready  bool           `json:"ready"`
	Reason problem.Reason `json:"reason"`
	// Boots says whether nodes can boot, and Summary why.
	Boots   Answer `json:"boots"`
	Summary string `json:"summary"`
	// Problems are the most important ones, the most important first.
	Problems []ReportProblem `json:"problems"`
	// Omitted is the number of problems that Problems lacks.
	Omitted int `json:"omitted,omitempty"`
	// UnavailableEdges are edges that became unavailable without an act of the operator. Each was reported by an Event.
	UnavailableEdges []UnavailableEdge `json:"unavailableEdges,omitempty"`
	// Neighbors are the other hosted clusters on its networks, NAMESPACE/NAME. When one leaves, this one is reconciled.
	Neighbors []string `json:"neighbors,omitempty"`
	// Notes are sentences about external hosts.
	Notes []string `json:"notes,omitempty"`
}

// A ReportProblem is one problem as a value, with its text for readers of another version.
type ReportProblem struct {
	problem.Problem
	// Text is what happened, what it means and what to do, at most 2 KiB.
	Text string `json:"text"`
}

// An UnavailableEdge is one edge, as problems name it.
type UnavailableEdge struct {
	problem.Subject
	// Since is when it became unavailable. Zero: unknown.
	Since time.Time `json:"since,omitzero"`
}

// Report returns a Report without what s does not know: the cluster, the build, the time, the generation, the other
// hashes, the edges and the neighbors.
func (s Status) Report() Report {
	problems := Ordered(s.Problems)
	if !s.Applied {
		problems = s.unapplied(problems)
	}
	o := s.bootOutlook(problems)
	out := Report{
		Version: CurrentReportVersion, Settings: s.Settings, Ready: true, Reason: Ready,
		Boots: o.boots, Summary: s.summary(o, problems), Problems: []ReportProblem{},
	}
	if s.Applied && boots(s.Plan.Networks) {
		out.Notes = []string{allowed(s.Plan)}
	}
	room := maxStoredProblems
	for i, p := range problems {
		shown := withText(p)
		if room -= len(marshal(shown)); room < 0 {
			out.Omitted = len(problems) - i
			break
		}
		out.Problems = append(out.Problems, shown)
	}
	switch verdict := VerdictOf(s.Plan.Networks, problems); {
	case verdict == Serves && o.boots != No:
		if out.Severity() == problem.SeverityWarning {
			out.Reason = ReadyWithWarnings
		}
	case problems.Waiting() || len(problems.Of(problem.SeverityError)) > 0:
		out.Ready, out.Reason = false, problems[0].Reason
	default:
		out.Ready, out.Reason = false, o.by
	}
	return out
}

// Severity returns the severity of the first problem, or SeverityInfo if there is none.
func (r Report) Severity() problem.Severity {
	if len(r.Problems) == 0 {
		return problem.SeverityInfo
	}
	return r.Problems[0].Level()
}

// JSON returns r as it is stored.
func (r Report) JSON() []byte { return marshal(r) }

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("explain: a report is always JSON: " + err.Error())
	}
	return b
}

// ReadReport returns the Report in b, the output of Report.JSON. It ignores unknown fields. It returns an error for a
// newer version, since the fields may have another meaning.
func ReadReport(b []byte) (Report, error) {
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		return Report{}, fmt.Errorf("not a report of the operator: %w", err)
	}
	switch {
	case r.Version > CurrentReportVersion:
		return Report{}, fmt.Errorf("the report of the operator has version %d of the format, and this version of oooi reads up to %d", r.Version, CurrentReportVersion)
	case r.Version < 1 || r.Cluster == "" || r.Written.IsZero():
		return Report{}, errors.New("not a report of the operator: version, cluster or written is missing")
	}
	if r.Boots != Yes && r.Boots != No {
		r.Boots = Unknown
	}
	return r, nil
}

// PlanHash returns a hash of a stored plan's text, with 16 hexadecimal digits. Programs of all versions compute the
// same hash of a text. It returns "" if text is empty.
func PlanHash(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
