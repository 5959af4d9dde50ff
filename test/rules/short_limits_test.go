// This file finds limits of less than a minute in tests: of dials, connections, clients and dig.

package rules

import (
	"go/ast"
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

// isShortLimit reports whether n gives a dial, a connection, a client or dig less than a minute. A limit with a name says
// what it is for. A dns.Client without a limit waits for two seconds.
func isShortLimit(n ast.Node) bool {
	short := func(e ast.Expr) bool {
		d, ok := durationOf(e, nil)
		return ok && d < patience.Limit
	}
	switch n := n.(type) {
	case *ast.CompositeLit:
		return isClientOfDNS(n.Type) && !slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
			field, ok := e.(*ast.KeyValueExpr)
			return ok && isIdent(field.Key, "Timeout")
		})
	case *ast.CallExpr:
		if isIdent(n.Fun, "new") && isClientOfDNS(n.Args[0]) {
			return true
		}
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
		return isIdent(n.Key, "Timeout") && short(n.Value)
	case *ast.BasicLit:
		seconds, ok := strings.CutPrefix(strings.Trim(n.Value, `"`), "+time=")
		count, err := strconv.Atoi(seconds)
		return ok && err == nil && time.Duration(count)*time.Second < patience.Limit
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
