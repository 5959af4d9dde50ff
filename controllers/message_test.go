package controllers

import (
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network/problem"
)

// message is what a person reads of p.
func message(p problem.Problem) string { return explain.Problem(p).String() }
