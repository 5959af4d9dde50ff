// This file finds limits of less than a minute in tests: of dials, connections, clients and dig.

package rules

import (
	"go/ast"
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

// isShortLimit reports whether n gives a dial, a connection, a client or dig less than a minute. A limit with a name says
// what it is for.
func isShortLimit(n ast.Node) bool {
	short := func(e ast.Expr) bool {
		d, ok := durationOf(e, nil)
		return ok && d < patience.Limit
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		verb, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) == 0 {
			return false
		}
		last := n.Args[len(n.Args)-1]
		if verb.Sel.Name == "DialTimeout" {
			return short(last)
		}
		until, ok := last.(*ast.CallExpr)
		return ok && strings.HasPrefix(verb.Sel.Name, "Set") && strings.HasSuffix(verb.Sel.Name, "Deadline") &&
			isNamed(until, "Add") && short(until.Args[0])
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && key.Name == "Timeout" && short(n.Value)
	case *ast.BasicLit:
		seconds, ok := strings.CutPrefix(strings.Trim(n.Value, `"`), "+time=")
		count, err := strconv.Atoi(seconds)
		return ok && err == nil && time.Duration(count)*time.Second < patience.Limit
	}
	return false
}
