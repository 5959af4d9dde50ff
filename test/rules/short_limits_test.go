// This file finds limits of less than a minute in tests: of what is awaited, of dials, connections, contexts, clients and programs.

package rules

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cldmnky/oooi/test/patience"
)

// commented are the lines of s that a comment is on, or above by itself.
func (s source) commented() map[int]bool {
	out, code := map[int]bool{}, map[int]bool{}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.CommentGroup:
			return false
		}
		code[s.fset.Position(n.Pos()).Line], code[s.fset.Position(n.End()).Line] = true, true
		return true
	})
	for _, c := range s.ast.Comments {
		line := s.fset.Position(c.End()).Line
		out[line] = true
		if !code[line] {
			out[line+1] = true
		}
	}
	return out
}

// helpsTests reports whether s is code of tests only, outside test files. The test cluster is a program of its own.
func (s source) helpsTests() bool {
	return strings.HasPrefix(s.path, "test/") && !s.isTest() && s.ast.Name.Name != "main" && !strings.HasPrefix(s.path, "test/testbed/")
}

// isBench reports whether f skips where the variable of its bench is not set.
func isBench(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && isCall(call, "t", "Skip") && len(call.Args) == 1 {
			why, ok := call.Args[0].(*ast.BasicLit)
			found = found || ok && strings.HasPrefix(why.Value, `"OOOI_`)
		}
		return !found
	})
	return found
}

// isShortWait reports whether e, the limit of Eventually, is less than a minute, or may be. A number is one of seconds.
func isShortWait(e ast.Expr, durations map[string]time.Duration) bool {
	if n, ok := numberOf(e); ok {
		return n < patience.Limit.Seconds()
	}
	if d, ok := durationOf(e, durations); ok {
		return d < patience.Limit
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return e.Op == token.QUO || e.Op == token.SUB
	case *ast.CallExpr:
		isLong := func(e ast.Expr) bool {
			d, ok := durationOf(e, durations)
			return ok && d >= patience.Limit
		}
		if id, ok := e.Fun.(*ast.Ident); ok && id.Name == "max" {
			return !slices.ContainsFunc(e.Args, isLong)
		} else if ok && id.Name == "min" {
			return slices.ContainsFunc(e.Args, func(e ast.Expr) bool { return !isLong(e) })
		}
	}
	return false
}

// isSoon reports whether a call of BeTemporally wants a time within less than a minute after another one, of a clock that
// nothing plays.
func isSoon(call *ast.CallExpr, durations map[string]time.Duration) bool {
	short := func(e ast.Expr) bool {
		d, ok := durationOf(e, durations)
		return ok && d < patience.Limit
	}
	if len(call.Args) < 2 || isPlayedTime(call.Args[1]) {
		return false
	}
	switch op, _ := call.Args[0].(*ast.BasicLit); {
	case op == nil:
		return false
	case op.Value == `"~"`:
		return len(call.Args) == 2 || short(call.Args[2])
	case strings.HasPrefix(op.Value, `"<`):
		later, ok := call.Args[1].(*ast.CallExpr)
		return ok && isNamed(later, "Add") && short(later.Args[0])
	}
	return false
}

// isPlayedTime reports whether e is now, w.now or a time counted from these: those of a clock that a test plays.
func isPlayedTime(e ast.Expr) bool {
	for {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			break
		}
		from, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		e = from.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "now" || isPlayed(e)
}

// isShortLimit reports whether n gives a dial, a connection, a context, a client or a program less than a minute. A limit with
// a name says what it is for. A dns.Client without a limit waits for two seconds.
func isShortLimit(n ast.Node, durations map[string]time.Duration) bool {
	short := func(e ast.Expr) bool {
		if _, named := e.(*ast.Ident); named {
			return false
		}
		d, ok := durationOf(e, durations)
		return ok && d < patience.Limit
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		if isIdent(n.Fun, "new") && isClientOfDNS(n.Args[0]) {
			return true
		}
		verb, ok := n.Fun.(*ast.SelectorExpr)
		if isShortCommand(n.Args, ok && verb.Sel.Name == "udhcpc") {
			return true
		}
		if !ok || len(n.Args) == 0 {
			return false
		}
		last := n.Args[len(n.Args)-1]
		if verb.Sel.Name == "DialTimeout" || isCall(n, "context", "WithTimeout") {
			return short(last)
		}
		until, ok := last.(*ast.CallExpr)
		return ok && (isCall(n, "context", "WithDeadline") || strings.HasPrefix(verb.Sel.Name, "Set") && strings.HasSuffix(verb.Sel.Name, "Deadline")) &&
			isNamed(until, "Add") && short(until.Args[0])
	case *ast.CompositeLit:
		return isShortCommand(n.Elts, false) || isClientOfDNS(n.Type) && !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
			field, ok := e.(*ast.KeyValueExpr)
			return ok && isIdent(field.Key, "Timeout")
		})
	case *ast.KeyValueExpr:
		return isIdent(n.Key, "Timeout") && short(n.Value)
	}
	return false
}

func isClientOfDNS(e ast.Expr) bool {
	t, ok := e.(*ast.SelectorExpr)
	return ok && isIdent(t.X, "dns") && t.Sel.Name == "Client"
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// isShortCommand reports whether a command line gives a program less than a minute. Without a limit, only udhcpc -n has one.
func isShortCommand(line []ast.Expr, udhcpc bool) bool {
	words := map[string]string{} // what follows each word
	last := ""
	for _, e := range line {
		literal, _ := e.(*ast.BasicLit)
		if literal == nil || literal.Kind != token.STRING {
			last = ""
			continue
		}
		word := strings.Trim(literal.Value, "\"`")
		if last != "" {
			words[last] = word
		}
		words[word], last = "", word
		if name, value, ok := strings.Cut(word, "="); ok {
			words[name] = value
		}
	}
	short := func(word string) bool {
		d, ok := spanOf(words[word])
		return ok && d < patience.Limit
	}
	has := func(word string) bool { _, ok := words[word]; return ok }
	for _, word := range []string{"+time", "--timeout", "--max-time", "--connect-timeout", "--request-timeout"} {
		if short(word) {
			return true
		}
	}
	if (udhcpc || has("udhcpc")) && has("-n") {
		tries, each, known := 3, 3*time.Second, true
		if n, err := strconv.Atoi(words["-t"]); has("-t") {
			tries, known = n, err == nil
		}
		if d, ok := spanOf(words["-T"]); has("-T") {
			each, known = d, known && ok
		}
		return known && time.Duration(tries)*each < patience.Limit
	}
	return has("curl") && short("-m") || has("nc") && short("-w")
}

// spanOf is the value of 30 and 30s on a command line.
func spanOf(value string) (time.Duration, bool) {
	if n, err := strconv.Atoi(value); err == nil {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(value)
	return d, err == nil
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

// durationOf is the value of "5s", 5 * time.Second, patience.Limit / 2, of a constant of the function, or of a name among
// durations. ok is false for all else. Without durations, no name has a value.
func durationOf(e ast.Expr, durations map[string]time.Duration) (d time.Duration, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err != nil || e.Kind != token.STRING {
			return 0, false
		}
		d, err = time.ParseDuration(text)
		return d, err == nil
	case *ast.ParenExpr:
		return durationOf(e.X, durations)
	case *ast.Ident:
		if v, is := declaration(e).(*ast.ValueSpec); is && durations != nil && len(v.Names) == 1 && len(v.Values) == 1 {
			return durationOf(v.Values[0], durations)
		}
		d, ok = durations[e.Name]
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
		if id, is := e.X.(*ast.Ident); is && id.Name == "time" {
			d, ok = units[e.Sel.Name]
		} else if is && id.Name == "patience" && e.Sel.Name == "Limit" {
			return patience.Limit, true
		}
	case *ast.BinaryExpr:
		left, known := durationOf(e.X, durations)
		right, both := durationOf(e.Y, durations)
		switch {
		case e.Op == token.MUL && both:
			n, is := numberOf(e.X)
			return time.Duration(n * float64(right)), is
		case e.Op == token.MUL && known:
			n, is := numberOf(e.Y)
			return time.Duration(n * float64(left)), is
		case e.Op == token.QUO && known:
			n, is := numberOf(e.Y)
			return time.Duration(float64(left) / n), is
		case e.Op == token.ADD && known && both:
			return left + right, true
		case e.Op == token.SUB && known && both:
			return left - right, true
		}
	}
	return d, ok
}

// numberOf is the value of a literal such as 5 or 0.5.
func numberOf(e ast.Expr) (n float64, ok bool) {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.INT && literal.Kind != token.FLOAT {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(literal.Value, "_", ""), 64)
	return n, err == nil
}
