// This file decides whether the operator's status, a stored Report, is current. It is pure.

package status

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/explain"
)

// oldStatus is the age from which a stored Report is ignored. The operator stores one at least every report.StatusEvery,
// and may be late once.
const oldStatus = 2 * report.StatusEvery

// counting returns f without a Report that is too old or contradicts the condition, and says why in noReport. The operator
// writes the condition first, and may then fail to store the Report.
func (f Facts) counting(now time.Time) Facts {
	if f.Stored == nil {
		return f
	}
	c := meta.FindStatusCondition(f.Conditions, own.ConditionType)
	switch s := f.Stored; {
	case now.Sub(s.Written) > oldStatus:
		f.Stored, f.noReport = nil, fmt.Sprintf("The operator last stored its status at %s, and should store it every %s. Check that the operator runs.",
			s.Written.UTC().Format(time.RFC3339), report.StatusEvery)
	case c != nil && (s.Ready != (c.Status == metav1.ConditionTrue) || string(s.Reason) != c.Reason):
		f.Stored, f.noReport = nil, fmt.Sprintf("The condition has reason %s, and the operator's status has %s. Read the condition, and try again in a minute. "+
			"If they still differ, look at the operator's log: it cannot store its status.", c.Reason, s.Reason)
	}
	return f
}

func (f Facts) current(c metav1.Condition) statusAnswer {
	not := func(what string, values ...any) statusAnswer {
		return statusAnswer{explain.No, fmt.Sprintf(what, values...) + " The operator has not seen the change."}
	}
	s := f.Stored
	switch {
	case c.ObservedGeneration != f.Generation:
		return not("The condition is about generation %d of the HostedCluster, which has %d.", c.ObservedGeneration, f.Generation)
	case s == nil:
		return statusAnswer{explain.Unknown, f.noReport}
	case s.Generation != f.Generation:
		return not("The operator's status is about generation %d of the HostedCluster, which has %d.", s.Generation, f.Generation)
	case f.Settings == "":
		return statusAnswer{explain.Unknown, "Not all current annotations can be read, so the operator's status may be outdated."}
	case s.Settings == "":
		return statusAnswer{explain.Unknown, "The operator could not read all annotations. Look at the problems, and at the operator's log."}
	case s.Build != f.Build && (s.Settings != f.Settings || f.Inputs != "" && s.Inputs != "" && s.Inputs != f.Inputs):
		// Programs of two versions may compute different hashes for equal objects.
		return statusAnswer{explain.Unknown, fmt.Sprintf("The operator has another version (%s) than this program (%s), and may read objects differently. "+
			"So the operator's status may be outdated. Use the program of the operator's version.", cmp.Or(s.Build, "unknown"), f.Build)}
	case s.Settings != f.Settings:
		return not("The operator's status is about settings %s, but the current annotations are %s.", s.Settings, f.Settings)
	case f.Inputs == "" || s.Inputs == "":
		return statusAnswer{explain.Unknown, "Not all NodePools, NetworkAttachmentDefinitions, Services and Routes can be read, so the operator's status may be outdated."}
	case s.Inputs != f.Inputs:
		return not("The operator's status is about previous NodePools, NetworkAttachmentDefinitions, Services or Routes, or about previous annotations of HyperShift.")
	case f.PlanRead && s.Plan != f.PlanHash:
		return not("The operator's status is not about the plan in force.")
	}
	return statusAnswer{explain.Yes, ""}
}

func (f Facts) bootAsStored(r Output) statusAnswer {
	if f.PlanRead && f.Stored.Plan != f.PlanHash {
		return statusAnswer{explain.Unknown, "The operator's status is not about the plan in force."}
	}
	if f.Stored.Boots == explain.Yes {
		if a, ok := f.contradiction(r.Networks); ok {
			return a
		}
	}
	seen := " The operator saw that at " + f.Stored.Written.UTC().Format(time.RFC3339) + ". The HostedCluster cannot be read, so a later change goes unnoticed."
	return statusAnswer{f.Stored.Boots, f.Stored.Summary + seen}
}
