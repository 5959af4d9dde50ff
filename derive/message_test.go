package derive_test

import (
	"strings"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// keysOf are p's keys in a row.
func keysOf(p problem.Problem) string { return strings.Join(p.Keys, ", ") }

// message is what a person reads of p.
func message(p problem.Problem) string { return explain.Problem(p).String() }
