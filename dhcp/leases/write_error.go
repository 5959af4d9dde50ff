// This file holds WriteError, why a store did not write a lease.

package leases

// A WriteError reports why a lease was not written. Reason names no object, so leases that fail for
// the same reason have equal Reasons.
type WriteError struct {
	// Reason is a clause, such as "the API server does not answer".
	Reason string
	Err    error
}

// Error returns the reason and the cause.
func (e *WriteError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *WriteError) Unwrap() error { return e.Err }
