// This file reads a plan as it was stored, by this version or one before it. It
// decides only what was meant where an older version had no word.

package network

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ReadPlan reads what Plan.JSON wrote; anything else is an error. Whether it may
// be served today is not looked at: it says what is in force.
func ReadPlan(b []byte) (Plan, error) {
	var p Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return Plan{}, fmt.Errorf("not a plan: %w", err)
	}
	if p.Networks == nil {
		return Plan{}, errors.New("not a plan: it has no networks")
	}
	return p, nil
}

// UnmarshalJSON reads a network. One that names no services is of a time when an
// edge ran all that it could.
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
