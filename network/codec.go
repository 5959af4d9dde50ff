// This file reads stored plans, of this version of the format and of those before
// it. It decides only what was meant where an older format had no word.

package network

import (
	"encoding/json"
	"errors"
	"fmt"
)

// A PlanVersion counts the formats of a plan.
type PlanVersion int

// The formats, each read by ReadPlan.
const (
	// UnversionedPlan is every format before plans had a version. Fields were only
	// added: relays; then services, endpoints, layer2 and the kinds of backends.
	UnversionedPlan PlanVersion = 0
	// CurrentPlanVersion added version and placement.
	CurrentPlanVersion PlanVersion = 1
)

// A NewerPlanError is about a plan that a newer version of oooi wrote.
type NewerPlanError struct{ Version PlanVersion }

// Error names both versions.
func (e NewerPlanError) Error() string {
	return fmt.Sprintf("the plan has version %d of the format, and this version of oooi reads up to %d", e.Version, CurrentPlanVersion)
}

// UnmarshalJSON reads a version. A newer one than CurrentPlanVersion is a
// NewerPlanError: what its fields mean is not known.
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

// ReadPlan reads what Plan.JSON wrote, today or in an earlier format; anything else
// is an error. It does not validate: the plan says what is in force.
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

// UnmarshalJSON reads a network. Before networks named their services, an edge ran
// all of them.
func (n *Network) UnmarshalJSON(b []byte) error {
	type plain Network
	if err := json.Unmarshal(b, (*plain)(n)); err != nil {
		return err
	}
	if n.Services == nil {
		n.Services = services(NetworkRequest{Primary: n.Primary})
	}
	return nil
}
