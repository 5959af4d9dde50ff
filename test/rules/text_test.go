// This file refuses product code that decides by searching text that was made for people, or takes a joined list apart.

package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// searches are functions and methods that look for something in a text. What only makes text, as Join, Fields, Lines and
// Trim do, is none.
var searches = []string{
	"Contains", "ContainsAny", "ContainsFunc", "ContainsRune", "Count", "Cut", "CutPrefix", "CutSuffix", "EqualFold", "FieldsFunc",
	"HasPrefix", "HasSuffix", "Index", "IndexAny", "IndexFunc", "LastIndex", "Split", "SplitAfter", "SplitN", "SplitSeq",
	"Match", "MatchString", "Find", "FindString", "FindStringIndex", "FindStringSubmatch", "FindAllString", "FindAllStringSubmatch",
}

// rendered are the fields, methods and variables that hold text for people: those of a condition, and of package explain.
var rendered = []string{"Message", "message", "Summary", "summary", "Text", "Event", "What", "Effect", "Fix", "Detail", "NotServing", "notServing"}

// compared are those that no value is compared with, other than with the empty text. "Text" is also what a library names its tokens.
var compared = []string{"Message", "Summary", "What", "Fix", "Detail"}

// joint is what people read between the values of a list.
const joint = `", "`

// TestRenderedTextIsNotSearched: values flow, and text ends. A decision that looks for words changes with the words. The
// rule sees expressions, not types: a text that a function returns escapes it.
func TestRenderedTextIsNotSearched(t *testing.T) {
	for _, s := range sources(t) {
		if s.isProduct() {
			for _, at := range searchesOfText(s.ast) {
				t.Errorf("%s searches rendered text: decide from a value", s.fset.Position(at))
			}
		}
	}
}

// TestRenderedTextIsNoticed: searches that were in the code once are found, and other expressions are not.
func TestRenderedTextIsNoticed(t *testing.T) {
	for line, found := range map[string]bool{
		`strings.Contains(t.Summary, words)`:                                 true,
		`strings.Contains(message, " "+reason+": ")`:                         true,
		`settingsIn.FindStringSubmatch(before.Message)`:                      true,
		`text, _, _ = strings.Cut(c.Message, "\n(settings ")`:                true,
		`strings.FieldsFunc(p.Text, ends)`:                                   true,
		`strings.HasPrefix(explain.Problem(p).String(), "Nodes")`:            true,
		`text := explain.Line(p); _ = strings.HasPrefix(text, "Error")`:      true,
		`strings.Split(p.Args["network"].String(), joint)`:                   true,
		`strings.Contains(args["error"].String(), "quota")`:                  true,
		`pools := a; _ = strings.Contains(pools, ", ")`:                      true,
		`pools := p.Args["nodePools"].String(); _ = strings.Count(pools, x)`: true,
		`slices.Contains(p.Args["network"], name)`:                           false,
		`strings.SplitSeq(value, ",")`:                                       false,
		`strings.HasPrefix(os.Args[0], plugin)`:                              false,
		`strings.HasPrefix(strings.ToLower(r.Message()), "nodes")`:           true,
		`_ = r.What == ofServices`:                                           true,
		`switch t.Summary { case fine: }`:                                    true,
		`_ = c.Message != ""`:                                                false,
		`slices.Contains(words, p.Text)`:                                     false,
		`strings.SplitN(lines.Text(), ":", 3)`:                               false,
		`explain.Shorten(strings.Join(strings.Fields(e.Message), " "), 9)`:   false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() {\n"+line+"\n}\n", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(searchesOfText(f)) > 0; got != found {
			t.Errorf("%s: noticed %v", line, got)
		}
	}
}

// searchesOfText are the calls in f that search rendered text.
func searchesOfText(f *ast.File) (at []token.Pos) {
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			if isCompared(n.Tag) {
				at = append(at, n.Pos())
			}
		case *ast.BinaryExpr:
			empty := isEmptyText(n.X) || isEmptyText(n.Y)
			if (n.Op == token.EQL || n.Op == token.NEQ) && !empty && (isCompared(n.X) || isCompared(n.Y)) {
				at = append(at, n.Pos())
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fun, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains(searches, fun.Sel.Name) || isPackage(fun.X, "slices", "maps") {
			return true
		}
		if slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return isRendered(e) || isRenderedBefore(e) || isJoint(e) }) {
			at = append(at, call.Pos())
		}
		return true
	})
	return at
}

// isCompared reports whether e is a field of text for people.
func isCompared(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && slices.Contains(compared, s.Sel.Name)
}

func isJoint(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == joint
}

func isEmptyText(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Value == `""`
}

// isRendered reports whether an expression has rendered text in it. A scanner's Text() is what a program reads.
func isRendered(e ast.Expr) (yes bool) {
	read := map[ast.Node]bool{}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.SelectorExpr); ok {
				yes = yes || isPackage(fun.X, "explain") && !strings.HasPrefix(fun.Sel.Name, "Read")
				read[fun.Sel] = fun.Sel.Name == "Text"
			}
		case *ast.IndexExpr:
			yes = yes || isArgument(n)
		case *ast.Ident:
			yes = yes || slices.Contains(rendered, n.Name) && !read[n]
		}
		return true
	})
	return yes
}

// isArgument reports whether e is an argument of a problem, by name.
func isArgument(e *ast.IndexExpr) bool {
	switch x := e.X.(type) {
	case *ast.SelectorExpr:
		return x.Sel.Name == "Args" && !isPackage(x.X, "os")
	case *ast.Ident:
		l, ok := e.Index.(*ast.BasicLit)
		return x.Name == "args" && ok && l.Kind == token.STRING
	}
	return false
}

// isRenderedBefore reports whether e is a variable that was declared with rendered text.
func isRenderedBefore(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	a, ok := declaration(id).(*ast.AssignStmt)
	if !ok || len(a.Lhs) != len(a.Rhs) {
		return false
	}
	i := slices.IndexFunc(a.Lhs, func(e ast.Expr) bool { left, ok := e.(*ast.Ident); return ok && left.Name == id.Name })
	return i >= 0 && isRendered(a.Rhs[i])
}

func isPackage(e ast.Expr, names ...string) bool {
	id, ok := e.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}
