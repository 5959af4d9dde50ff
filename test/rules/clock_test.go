// This file refuses tests whose result depends on how fast the machine is: an upper bound on the time that something takes, and a
// second try of what failed. A limit below a minute needs a comment that says what may not come. Benches measure time. Tests assert order, counts and values, or play the clock.

package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cldmnky/oooi/test/patience"
)

// TestNoClocks: no test outside benches has an upper bound on time, and none tries again what failed.
func TestNoClocks(t *testing.T) {
	all := sources(t)
	durations := durationsOf(all)
	for _, s := range all {
		if !s.isTest() || strings.HasSuffix(s.path, "_bench_test.go") || strings.HasSuffix(s.pkg(), "bench") {
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
	shortLimit  = "a limit of less than a minute: make it a minute, or comment on what does not come, or what waits for it again"
)

// clocks returns what s has. Durations are the named ones of its package.
func clocks(s source, durations map[string]time.Duration) (out []clock) {
	add := func(n ast.Node, what string) { out = append(out, clock{s.fset.Position(n.Pos()).Line, what}) }
	said := s.commented()
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if isShortLimit(n) && !said[s.fset.Position(n.Pos()).Line] {
			add(n, shortLimit)
		}
		switch n := n.(type) {
		case *ast.CallExpr:
			if isCall(n, "synctest", "Test") {
				return false // Its clock is played.
			}
			if what := refusedCall(n, durations); what != "" {
				add(n, what)
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
	subject, timeout, limited := waits(verb.X, durations)
	switch {
	case subject == nil:
		return ""
	case isNamed(subject, "Eventually"):
		if limited && timeout < patience.Limit {
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

// waits follows a chain such as Eventually(f).WithTimeout(d) to its first call, and returns its limit if it names one.
func waits(e ast.Expr, durations map[string]time.Duration) (first *ast.CallExpr, timeout time.Duration, limited bool) {
	for {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return nil, 0, false
		}
		switch {
		case isNamed(call, "Eventually") || isNamed(call, "Expect"):
			if isNamed(call, "Eventually") && len(call.Args) > 1 && !limited {
				timeout, limited = durationOf(call.Args[1], durations)
			}
			if len(call.Args) == 0 {
				return nil, 0, false
			}
			return call, timeout, limited
		case (isNamed(call, "WithTimeout") || isNamed(call, "Within")) && len(call.Args) == 1:
			timeout, limited = durationOf(call.Args[0], durations)
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil, 0, false
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

// isElapsed reports whether e is time.Since(...), a.Sub(b), or a variable that the file sets to one of these.
func isElapsed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		sel, ok := e.Fun.(*ast.SelectorExpr)
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

// durationsOf are the constants and variables of each package that are durations, by name.
func durationsOf(all []source) map[string]map[string]time.Duration {
	out := map[string]map[string]time.Duration{}
	for _, s := range all {
		if out[s.pkg()] == nil {
			out[s.pkg()] = map[string]time.Duration{}
		}
		for _, d := range s.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || len(v.Names) != len(v.Values) {
					continue
				}
				for i, name := range v.Names {
					if length, ok := durationOf(v.Values[i], nil); ok {
						out[s.pkg()][name.Name] = length
					}
				}
			}
		}
	}
	return out
}

// durationOf is the value of "5s", 5 * time.Second, time.Second, or of a name among durations. ok is false for all else.
func durationOf(e ast.Expr, durations map[string]time.Duration) (d time.Duration, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || e.Kind != token.STRING {
			return 0, false
		}
		d, err = time.ParseDuration(text)
		return d, err == nil
	case *ast.Ident:
		d, ok = durations[e.Name]
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
		if id, is := e.X.(*ast.Ident); is && id.Name == "time" {
			d, ok = units[e.Sel.Name]
		}
	case *ast.BinaryExpr:
		number, is := e.X.(*ast.BasicLit)
		unit, known := durationOf(e.Y, durations)
		if is && known && e.Op == token.MUL {
			n, err := strconv.ParseFloat(strings.ReplaceAll(number.Value, "_", ""), 64)
			return time.Duration(n * float64(unit)), err == nil
		}
	}
	return d, ok
}

// TestClocks: the rule finds each kind, and nothing else.
func TestClocks(t *testing.T) {
	const text = `package x
const soon = 5 * time.Second
func TestX(t *testing.T) {
	if time.Since(begin) > limit { t.Fatal("slow") } // bound
	if limit < end.Sub(begin) { t.Error("slow") } // bound
	took := time.Since(begin)
	g.Expect(took).To(BeNumerically("<", limit)) // bound
	g.Expect(took).To(And(BeNumerically(">", least), BeNumerically("<=", limit)), "words") // bound
	Expect(time.Since(begin) < limit).To(BeTrue()) // bound
	g.Eventually(f, "5s").Should(Succeed()) // wait
	g.Eventually(f, 59*time.Second, "10ms").Should(Succeed()) // wait
	g.Eventually(f, "5s").ShouldNot(Succeed()) // wait
	Eventually(f).WithContext(ctx).WithTimeout(soon).Should(Succeed()) // wait
	NewWithT(t).Eventually(f).Within(500 * time.Millisecond).ProbeEvery(time.Second).Should(Succeed()) // wait
	select { case <-done:
	case <-time.After(10 * time.Second): t.Fatal("hangs") // fail
	}
	for attempt := range 3 { run(attempt) } // try
	for try := 0; try < 3; try++ { run(try) } // try
	short, err := net.DialTimeout("tcp", at, 5*time.Second)
	short.SetReadDeadline(time.Now().Add(time.Second))
	short := net.Dialer{Timeout: time.Second}
	short("dig", "+time=5")
	short := dns.Client{Net: "udp"}
	short := new(dns.Client)

	net.DialTimeout("tcp", at, time.Minute)
	c := dns.Client{Net: "udp", Timeout: time.Minute}
	c.SetReadDeadline(time.Now().Add(soon))
	// Nothing comes.
	c.SetReadDeadline(time.Now().Add(time.Second))
	run("dig", "+time=60")
	if took < least { t.Fatal("early") }
	for time.Since(begin) < limit { f() }
	if w.now.Sub(begin) > limit { t.Fatal("of a played clock") }
	g.Expect(took).To(BeNumerically(">=", least))
	g.Expect(count).To(BeNumerically("<", 5))
	g.Eventually(f).Should(Succeed())
	g.Eventually(f, "1m", "10ms").Should(Succeed())
	g.Eventually(f, time.Minute).Should(Succeed())
	g.Eventually(f, unknown()).Should(Succeed())
	g.Consistently(f, "1s").Should(Succeed())
	select { case <-time.After(time.Second): f() }
	synctest.Test(t, func(t *testing.T) { g.Expect(time.Since(begin)).To(BeNumerically("<", limit)) })
}
`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "x_test.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	s := source{path: "x_test.go", ast: f, fset: fset}
	var got, want []clock
	got = clocks(s, durationsOf([]source{s})[s.pkg()])
	kinds := map[string]string{"bound": boundOfTime, "wait": shortWait, "fail": shortFail, "try": secondTry}
	line := 0
	for l := range strings.Lines(text) {
		line++
		if _, kind, ok := strings.Cut(strings.TrimSuffix(l, "\n"), "// "); ok && kinds[kind] != "" {
			want = append(want, clock{line, kinds[kind]})
		} else if strings.HasPrefix(l, "\tshort") {
			want = append(want, clock{line, shortLimit})
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(clock{})); d != "" {
		t.Error(d)
	}
}
