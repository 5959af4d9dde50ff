// This file reads the output of the pod that acts as a VM, and says why the pod did not try.

package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// An untriedError is the problem because of which a network was not tried.
type untriedError struct{ problem problem.Problem }

func (e untriedError) Error() string { return explain.Problem(e.problem).String() }

func untried(c problem.Cause, args problem.Args) error {
	return untriedError{problem.New(c, problem.Subject{}, args)}
}

func whyUntried(err error) problem.Problems {
	if e := (untriedError{}); errors.As(err, &e) {
		return problem.Problems{e.problem}
	}
	return found(problem.Unread, failed(err))
}

func readTrials(text []byte) (out []checked, err error) {
	var results []network.TrialResult
	for line := range bytes.Lines(text) {
		if json.Unmarshal(line, &results) == nil {
			break
		}
	}
	if len(results) == 0 {
		return nil, untried(problem.TrialWithoutResults, problem.Args{"log": {fmt.Sprintf("%.200q", text)}})
	}
	for _, r := range results {
		out = append(out, lineOf(r.Name, r.Problems).asideIf(r.Aside))
	}
	return out, nil
}

// readTrialStart returns the first line of the pod's log that reports the start of a trial. Zero: there is none yet.
func readTrialStart(text []byte) (start network.TrialStart) {
	for line := range bytes.Lines(text) {
		if json.Unmarshal(line, &start) == nil && start.Uses != "" {
			break
		}
	}
	return start
}
