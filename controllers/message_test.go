package controllers

import (
	"fmt"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// message is what a person reads of p.
func message(p problem.Problem) string { return explain.Problem(p).String() }

// line is p as the condition has it.
func line(p problem.Problem) string { return fmt.Sprintf("%s %s: %s", p.Level(), p.Reason, message(p)) }
