// This file refuses tests whose result depends on how fast the machine is: an upper bound on the time that something takes, a
// sleep, and a second try of what failed. A limit below a minute needs a comment that says what may not come. Tests assert order,
// counts and values, or play the clock. Benches measure time: a test that skips without its variable is one. The rule reads the
// syntax tree only: it sees no limit in a field or of another package, and no bound on a value that a function measured.

package rules

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cldmnky/oooi/test/patience"
)

// TestNoClocks: no test outside benches has an upper bound on time, and none tries again what failed.
func TestNoClocks(t *testing.T) {
	all := sources(t)
	durations := durationsOf(all)
	for _, s := range all {
		if !s.isTest() && !s.helpsTests() {
			continue
		}
		for _, f := range clocks(s, durations[s.pkg()]) {
			t.Errorf("%s:%d: %s", s.path, f.line, f.what)
		}
	}
}

// TestPatience: Gomega waits for one second, unless a package of tests imports patience.
func TestPatience(t *testing.T) {
	waits, patient := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		if !s.isTest() {
			continue
		}
		if slices.Contains(s.imports(), module+"test/patience") {
			patient[s.pkg()] = true
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isNamed(call, "Eventually") {
				waits[s.pkg()] = true
			}
			return true
		})
	}
	for _, pkg := range slices.Sorted(maps.Keys(waits)) {
		if !patient[pkg] {
			t.Errorf("%s waits with Eventually, and does not import test/patience", pkg)
		}
	}
}

// A clock is a place where a test depends on the speed of the machine.
type clock struct {
	line int
	what string
}

// What is refused.
const (
	boundOfTime = "an upper bound on time that passed: assert order, counts or values, or play the clock"
	shortWait   = "waits less than a minute for what must happen"
	shortFail   = "fails after less than a minute without an event"
	secondTry   = "tries again what failed: a test that fails once is red"
	sleeps      = "sleeps: wait for an event, or play the clock"
	soonTime    = "a time less than a minute after another: assert order, play the clock, or comment on what sets it"
	shortLimit  = "a limit of less than a minute: make it a minute, or comment on what does not come, or what waits for it again"
)

// clocks returns what s has. Durations are the named ones of its package.
func clocks(s source, durations map[string]time.Duration) (out []clock) {
	add := func(n ast.Node, what string) { out = append(out, clock{s.fset.Position(n.Pos()).Line, what}) }
	said, failing := s.commented(), map[ast.Node]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if isShortLimit(n, durations) && !said[s.fset.Position(n.Pos()).Line] && !failing[n] {
			add(n, shortLimit)
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			return !isBench(n)
		case *ast.CallExpr:
			if isCall(n, "synctest", "Test") {
				return false // Its clock is played.
			}
			if isNamed(n, "NotTo") {
				ast.Inspect(n.Fun, func(n ast.Node) bool { failing[n] = true; return true })
			}
			if isCall(n, "time", "Sleep") {
				add(n, sleeps)
			}
			if what := refusedCall(n, durations); what != "" {
				add(n, what)
			}
			if isNamed(n, "BeTemporally") && isSoon(n, durations) && !said[s.fset.Position(n.Pos()).Line] {
				add(n, soonTime)
			}
		case *ast.IfStmt:
			if b, ok := n.Cond.(*ast.BinaryExpr); ok && fails(n.Body) && (isElapsed(b.X) && isMore(b.Op) || isElapsed(b.Y) && isLess(b.Op)) {
				add(n, boundOfTime)
			}
		case *ast.CommClause:
			if d, ok := after(n.Comm, durations); ok && d < patience.Limit && fails(&ast.BlockStmt{List: n.Body}) {
				add(n, shortFail)
			}
		case *ast.RangeStmt:
			if isAttempt(n.Key) {
				add(n, secondTry)
			}
		case *ast.ForStmt:
			if a, ok := n.Init.(*ast.AssignStmt); ok && isAttempt(a.Lhs[0]) {
				add(n, secondTry)
			}
		}
		return true
	})
	return out
}

func isLess(op token.Token) bool { return op == token.LSS || op == token.LEQ }
func isMore(op token.Token) bool { return op == token.GTR || op == token.GEQ }

// isAttempt reports whether a loop counts tries.
func isAttempt(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && slices.Contains([]string{"attempt", "retry", "try"}, id.Name)
}

// refusedCall returns why the call of an assertion is refused. Empty: it is not.
func refusedCall(n *ast.CallExpr, durations map[string]time.Duration) string {
	verb, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Should", "ShouldNot", "To", "NotTo", "ToNot"}, verb.Sel.Name) || len(n.Args) == 0 {
		return ""
	}
	subject, limit := waits(verb.X)
	switch {
	case subject == nil:
		return ""
	case isNamed(subject, "Eventually"):
		if limit != nil && isShortWait(limit, durations) {
			return shortWait
		}
	case isNamed(subject, "Expect"):
		if isElapsed(subject.Args[0]) && hasUpperBound(n.Args[0]) {
			return boundOfTime
		}
		if b, ok := subject.Args[0].(*ast.BinaryExpr); ok && isElapsed(b.X) && isLess(b.Op) {
			return boundOfTime
		}
	}
	return ""
}

// waits follows a chain such as Eventually(f).WithTimeout(d) to its first call, and returns its limit. Nil: it names none.
func waits(e ast.Expr) (first *ast.CallExpr, limit ast.Expr) {
	for {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return nil, nil
		}
		switch {
		case isNamed(call, "Eventually") || isNamed(call, "Expect"):
			if isNamed(call, "Eventually") && len(call.Args) > 1 && limit == nil {
				limit = call.Args[1]
			}
			if len(call.Args) == 0 {
				return nil, nil
			}
			return call, limit
		case (isNamed(call, "WithTimeout") || isNamed(call, "Within")) && len(call.Args) == 1:
			limit = call.Args[0]
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil, nil
		}
		e = sel.X
	}
}

// hasUpperBound reports whether a matcher has BeNumerically("<", ...).
func hasUpperBound(matcher ast.Expr) (found bool) {
	ast.Inspect(matcher, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && isNamed(call, "BeNumerically") && len(call.Args) > 1 {
			op, _ := call.Args[0].(*ast.BasicLit)
			found = found || op != nil && strings.HasPrefix(op.Value, `"<`)
		}
		return !found
	})
	return found
}

// isElapsed reports whether e is time.Since(...), a.Sub(b), the seconds of these, or a variable that the file sets to one of them.
func isElapsed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
		if ok && slices.Contains([]string{"Seconds", "Milliseconds", "Minutes"}, sel.Sel.Name) {
			return isElapsed(sel.X)
		}
		return isCall(e, "time", "Since") || ok && sel.Sel.Name == "Sub" && len(e.Args) == 1 && !isPlayed(sel.X)
	case *ast.Ident:
		a, ok := declaration(e).(*ast.AssignStmt)
		if !ok || len(a.Lhs) != len(a.Rhs) {
			return false
		}
		for i, left := range a.Lhs {
			if id, ok := left.(*ast.Ident); ok && id.Name == e.Name {
				_, call := a.Rhs[i].(*ast.CallExpr)
				return call && isElapsed(a.Rhs[i])
			}
		}
	}
	return false
}

// isPlayed reports whether e is the time of a clock that a test plays, such as w.now.
func isPlayed(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "now"
}

// declaration is the statement that declares a variable. Nil: the file has none.
func declaration(id *ast.Ident) any {
	if id.Obj == nil {
		return nil
	}
	return id.Obj.Decl
}

// after returns how long a case of select waits with time.After.
func after(comm ast.Stmt, durations map[string]time.Duration) (time.Duration, bool) {
	e, ok := comm.(*ast.ExprStmt)
	if !ok {
		return 0, false
	}
	receive, ok := e.X.(*ast.UnaryExpr)
	if !ok {
		return 0, false
	}
	call, ok := receive.X.(*ast.CallExpr)
	if !ok || !isCall(call, "time", "After") {
		return 0, false
	}
	return durationOf(call.Args[0], durations)
}

// fails reports whether a block fails the test.
func fails(b *ast.BlockStmt) (found bool) {
	ast.Inspect(b, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			for _, name := range []string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"} {
				found = found || isCall(call, "t", name)
			}
		}
		return !found
	})
	return found
}

// isCall reports whether call is pkg.name(...).
func isCall(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// isNamed reports whether call is of a function or a method of that name.
func isNamed(call *ast.CallExpr, name string) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == name
	case *ast.SelectorExpr:
		return f.Sel.Name == name
	}
	return false
}
