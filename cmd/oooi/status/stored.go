// This file decides what the status that the operator stores next to the plan counts for. It is pure.

package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/network/explain"
)

// oldStatus is the age from which a stored status counts for nothing: the operator stores it every ten minutes, and may be a
// pass late.
const oldStatus = 2 * controllers.StatusEvery

// agreeing is f without a stored status that c contradicts. The operator writes the condition first, and may fail to store the
// status then.
func (f Facts) agreeing(c metav1.Condition) Facts {
	if s := f.stored; s != nil && (s.Ready != (c.Status == metav1.ConditionTrue) || string(s.Reason) != c.Reason) {
		f.stored = nil
	}
	return f
}

// isOld answers why the stored status is too old at now. ok is false if it is not.
func (f Facts) isOld(now time.Time) (why string, ok bool) {
	age := now.Sub(f.stored.Written)
	if age <= oldStatus {
		return "", false
	}
	return fmt.Sprintf("The operator stored its status at %s, and should have done so again every %s. Check that the operator runs.",
		f.stored.Written.UTC().Format(time.RFC3339), controllers.StatusEvery), true
}

// storedIsCurrent answers whether the stored status is about the objects of now.
func (f Facts) storedIsCurrent(now time.Time) statusAnswer {
	s := f.stored
	not := func(what string) statusAnswer {
		return statusAnswer{explain.No, "The operator's status is about " + what + " The operator has not seen the change."}
	}
	old, isOld := f.isOld(now)
	switch {
	case isOld:
		return statusAnswer{explain.No, old}
	case s.Generation != f.Generation:
		return not(fmt.Sprintf("generation %d of the HostedCluster, which has %d.", s.Generation, f.Generation))
	case f.isOfAnotherBuild() && (s.Settings != f.Settings || f.inputs != "" && s.Inputs != "" && s.Inputs != f.inputs):
		return f.anotherBuild()
	case s.Settings != f.Settings:
		return not("other annotations than those of now.")
	case f.inputs == "" || s.Inputs == "":
		return statusAnswer{explain.Unknown, "Not all NodePools, NetworkAttachmentDefinitions, Services and Routes can be read, so the operator's status may be about former ones."}
	case s.Inputs != f.inputs:
		return not("former NodePools, NetworkAttachmentDefinitions, Services or Routes.")
	case f.PlanRead && s.Plan != f.planHash:
		return not("another plan than the one in force.")
	}
	return statusAnswer{explain.Yes, ""}
}

// isOfAnotherBuild reports whether the operator that stored the status is of another version than this program, or does not tell its
// version. Programs of two versions may make different hashes of equal objects.
func (f Facts) isOfAnotherBuild() bool { return f.stored != nil && f.stored.Build != f.build }

// anotherBuild is the answer if hashes of the two differ.
func (f Facts) anotherBuild() statusAnswer {
	return statusAnswer{explain.Unknown, fmt.Sprintf("The operator is of another version (%s) than this program (%s), and each may read objects in its own way. "+
		"So the operator's status may be about former objects or not. Use the program of the operator's version.", cmp.Or(f.stored.Build, "unknown"), f.build)}
}

// withStored is told with the problems and the summary of the stored status, which has all, unless c is not about the settings
// of now.
func (f Facts) withStored(told explain.Told, c *statusCondition) explain.Told {
	if f.stored == nil || c != nil && c.Current.Answer == explain.No {
		return told
	}
	out := explain.Told{Summary: f.stored.Summary, Settings: f.stored.Settings}
	for _, p := range f.stored.Problems {
		out.Problems = append(out.Problems, explain.ToldProblem{Severity: p.Severity, Reason: p.Reason, Text: p.Text})
	}
	for _, note := range told.Rest {
		if !strings.Contains(note, " more problems are not shown.") {
			out.Rest = append(out.Rest, note)
		}
	}
	if n := f.stored.Omitted; n > 0 {
		out.Rest = append(out.Rest, fmt.Sprintf("%d more problems are not stored.", n))
	}
	return out
}

// bootAsStored answers whether nodes boot for a reader that may not read the HostedCluster.
func (f Facts) bootAsStored(r Report, now time.Time) statusAnswer {
	if why, ok := f.isOld(now); ok {
		return statusAnswer{explain.Unknown, why}
	}
	if f.PlanRead && f.stored.Plan != f.planHash {
		return statusAnswer{explain.Unknown, "The operator's status is about another plan than the one in force."}
	}
	if f.stored.Boots == explain.Yes {
		if a, ok := f.contradiction(r.Networks); ok {
			return a
		}
	}
	seen := " The operator saw that at " + f.stored.Written.UTC().Format(time.RFC3339) + ". The HostedCluster cannot be read, so a later change is not known."
	return statusAnswer{f.stored.Boots, f.stored.Summary + seen}
}
