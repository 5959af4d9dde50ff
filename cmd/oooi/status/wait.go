// This file reads the state of hosted clusters, once or until all are ready, and decides the exit code.

package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/explain"
)

// follow reads the state of each selected hosted cluster. With --wait, it repeats that at each tick until all are settled.
// It returns the last outputs that it could read. The error determines the exit code.
func (ask Request) follow(ctx context.Context, api client.Reader, ticks <-chan time.Time) ([]Output, error) {
	if !ask.wait {
		all, err := ask.read(ctx, api)
		if ctx.Err() != nil {
			return all, command.ErrInterrupted
		}
		return all, cmp.Or(err, verdict(all))
	}
	limited, cancel := context.WithTimeout(ctx, ask.timeout)
	defer cancel()
	var last []Output
	var at time.Time
	var failed error
	for {
		all, err := ask.read(limited, api)
		if err == nil || limited.Err() == nil || failed == nil && last == nil {
			failed = err // An error because of the timeout does not replace an earlier one.
		}
		if err == nil || len(all) > 0 && limited.Err() == nil {
			last, at = all, time.Now()
		}
		switch {
		case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
			return last, err
		case slices.ContainsFunc(all, func(r Output) bool { return r.Blind }):
			return last, errors.New("--wait needs the right to read the condition, all annotations and the operator's status")
		case err == nil && settled(all):
			return last, nil
		}
		select {
		case <-ticks:
			continue
		case <-limited.Done():
		}
		switch {
		case ctx.Err() != nil:
			return last, command.ErrInterrupted
		case last == nil:
			return nil, failed
		}
		return last, command.Exit(cmp.Or(exitCode(last), command.ExitUnknown), errTimeout(ask.timeout, at, failed))
	}
}

// errTimeout returns the error of a wait that ended after its timeout, which is parameter after. Parameter at is the
// time of the last read with a result. failed is the error of this read or a later one, or nil.
func errTimeout(after time.Duration, at time.Time, failed error) error {
	err := fmt.Errorf("NetworkReady is not True for the current settings after %s", after)
	if failed == nil {
		return err
	}
	return fmt.Errorf("%w; the report was read at %s, and then: %w", err, at.UTC().Format(time.RFC3339), failed)
}

// read returns the output for each selected hosted cluster that can be read. The error names the others.
func (ask Request) read(ctx context.Context, api client.Reader) ([]Output, error) {
	selected, err := source.Selected(ctx, api, ask.Name)
	if err != nil {
		return nil, err
	}
	var all []Output
	var failed error
	at := ask.At
	if at.IsZero() {
		at = time.Now()
	}
	for _, hc := range selected {
		facts, err := Read(ctx, api, hc)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("HostedCluster %s/%s cannot be shown: %w", hc.Namespace, hc.Name, err))
			continue
		}
		all = append(all, OutputOf(facts, at))
	}
	return all, failed
}

// verdict returns nil if nodes of all clusters can boot, else an ExitError.
func verdict(all []Output) error {
	if code := exitCode(all); code != 0 {
		return command.Exit(code, nil)
	}
	return nil
}

func exitCode(all []Output) (code int) {
	for _, r := range all {
		switch r.Boot.Answer {
		case explain.Yes:
		case explain.No:
			code = command.WorseExit(code, command.ExitFault)
		default:
			code = command.WorseExit(code, command.ExitUnknown)
		}
	}
	return code
}

// settled reports whether NetworkReady is True for the current settings of all clusters, and nodes can boot.
func settled(all []Output) bool {
	for _, r := range all {
		c := r.Condition
		if r.Boot.Answer != explain.Yes || c == nil || c.Status != string(metav1.ConditionTrue) || c.Current.Answer != explain.Yes {
			return false
		}
	}
	return true
}
