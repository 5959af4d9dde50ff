// This file reads stored plans in the current and all earlier formats. For a field
// that an earlier format lacks, it sets the value that the format implied.

package network

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// A PlanVersion counts the formats of a plan.
type PlanVersion int

// The formats, each read by ReadPlan.
const (
	// UnversionedPlan is every format before plans had a version. Fields were only
	// added: relays; then services, endpoints, layer2 and backend kinds.
	UnversionedPlan PlanVersion = 0
	// CurrentPlanVersion added version and placement. Later, without a new number: named in
	// dhcp, targetPort in backends, loadBalancer in endpoints, service ntp, pods in dns, accessLog, metricsPort, and access. An edge of an
	// earlier version ignores them, and may lease a named address. A plan without them means the same as before.
	CurrentPlanVersion PlanVersion = 1
)

// A NewerPlanError reports a plan that a newer version of oooi wrote.
type NewerPlanError struct{ Version PlanVersion }

// Error names the version of the plan and the latest one that is supported.
func (e NewerPlanError) Error() string {
	return fmt.Sprintf("the plan has version %d of the format, and this version of oooi reads up to %d", e.Version, CurrentPlanVersion)
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

// ReadPlan reads the output of Plan.JSON, in the current or an earlier format. It
// does not validate the plan. Any other content is an error.
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

// UnmarshalJSON reads a network. A network of an earlier format without services
// runs all of that time: NTP came later. Earlier formats listed the addresses of nodes apart.
func (n *Network) UnmarshalJSON(b []byte) error {
	type plain Network
	earlier := struct {
		*plain
		ReservedNodes []netip.Prefix `json:"elsewhereNodes"`
	}{plain: (*plain)(n)}
	if err := json.Unmarshal(b, &earlier); err != nil {
		return err
	}
	if len(earlier.ReservedNodes) > 0 {
		n.ReservedDestinations = MergedPrefixes(slices.Concat(n.ReservedDestinations, earlier.ReservedNodes))
	}
	if n.Services == nil {
		n.Services = slices.DeleteFunc(services(NetworkRequest{Primary: n.Primary}), func(s Service) bool { return s == ServiceNTP })
	}
	return nil
}
