// This file reads stored plans.

package network

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A PlanVersion counts the formats of a plan.
type PlanVersion int

// CurrentPlanVersion is the format that this version writes. Fields are added without a new number, and an edge of an
// earlier version ignores them. A change of what a field means gets a new number, and the format before it is still read.
const CurrentPlanVersion PlanVersion = 1

// A NewerPlanError reports a plan that a newer version of oooi wrote.
type NewerPlanError struct{ Version PlanVersion }

// Error names the version of the plan and the latest one that is supported.
func (e NewerPlanError) Error() string {
	return fmt.Sprintf("the plan has version %d of the format, but this version of oooi reads up to %d", e.Version, CurrentPlanVersion)
}

// UnmarshalJSON reads a version. It returns a NewerPlanError if the version is newer
// than CurrentPlanVersion, since the meaning of its fields is unknown.
func (v *PlanVersion) UnmarshalJSON(b []byte) error {
	var n int
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if n < 0 {
		return fmt.Errorf("version %d", n)
	}
	if n > int(CurrentPlanVersion) {
		return NewerPlanError{PlanVersion(n)}
	}
	*v = PlanVersion(n)
	return nil
}

// ReadPlan reads the output of Plan.JSON. It does not validate the plan. Any other content is an error.
func ReadPlan(b []byte) (Plan, error) {
	var p Plan
	err := json.Unmarshal(b, &p)
	if newer := (NewerPlanError{}); errors.As(err, &newer) {
		return Plan{}, newer
	}
	if err != nil {
		return Plan{}, fmt.Errorf("not a plan: %w", err)
	}
	if p.Networks == nil {
		return Plan{}, errors.New("not a plan: it has no networks")
	}
	return p, nil
}
