// This file reads stored plans, and computes what identifies a network: a part of object names, and a hash.

package network

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A PlanVersion counts the formats of a plan.
type PlanVersion int

// CurrentPlanVersion is the format that this version of oooi writes. Older edges ignore unknown fields, so a new field
// needs no new number. A field with another meaning does, and the previous format must still be read.
const CurrentPlanVersion PlanVersion = 1

// A NewerPlanError reports a plan that a newer version of oooi wrote.
type NewerPlanError struct{ Version PlanVersion }

// Error returns a message with the version of the plan and the newest version that this program reads.
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

// ReadPlan returns the plan in b, the output of Plan.JSON. It returns an error for any other content, and does not
// validate the plan.
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

// Dashed returns n's name as a DNS label of at most length characters. It ends with a hash if the
// name is too long, or if another network could have the same label (a.b-c and a-b.c).
func (n Network) Dashed(length int) string {
	plain := strings.ReplaceAll(n.Name, ".", "-")
	a := n.Attachment
	if len(plain) <= length && !strings.Contains(a.Namespace, "-") && !strings.Contains(a.Name, ".") {
		return plain
	}
	sum := sha256.Sum256([]byte(n.Name))
	hash := hex.EncodeToString(sum[:4])
	if limit := length - len(hash) - 1; len(plain) > limit {
		plain = strings.TrimRight(plain[:limit], "-")
	}
	return plain + "-" + hash
}

// Hash returns a hash of what n serves. Compare hashes of one release of oooi only: another release may write other
// fields. It returns 0 if n cannot be written as JSON.
func (n Network) Hash() uint32 {
	b, err := json.Marshal(n)
	if err != nil {
		return 0
	}
	sum := sha256.Sum256(b)
	return binary.BigEndian.Uint32(sum[:4])
}
