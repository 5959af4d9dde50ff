// This file writes a text as its differences to another, and reads it back.
//
// A difference is made of hunks as in a unified diff. In place of line numbers,
// which change with every change of the base, a hunk's head names where in the
// document it stands, for the reader. A hunk belongs where its lines of the base
// are found first, after the hunk before; it has as much context as that needs.
//
// In a stream of YAML documents each document has a line of its own, "=== Kind
// name", also where nothing in it differs. Where the base has none of its name,
// "like" names the document that it is compared with: one before it, or the
// base's.

package golden

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

const (
	hunkHead     = "@@ "
	documentHead = "=== "
	likeInfix    = ", like "
)

// difference is got as differences to base, the file name of the story of.
func difference(of, name string, base, got []byte) []byte {
	out := &bytes.Buffer{}
	fmt.Fprintf(out, "# %s of %s with these differences:\n", name, of)
	if !isStream(got) || !isStream(base) {
		out.WriteString(hunks(lines(base), lines(got)))
		return out.Bytes()
	}
	old := documents(base)
	known := slices.Clone(old)
	for _, d := range documents(got) {
		like, found := find(old, d.name)
		head := documentHead + d.name
		if !found {
			if like, found = closest(known, d); found {
				head += likeInfix + like.name
			}
		}
		out.WriteString(head + "\n" + hunks(lines([]byte(like.text)), lines([]byte(d.text))))
		known = with(known, d)
	}
	return out.Bytes()
}

// apply is the text whose difference to base is d.
func apply(base, d []byte) ([]byte, error) {
	all := lines(d)
	if len(all) == 0 || !strings.HasPrefix(all[0], "#") {
		return nil, fmt.Errorf("it does not begin with a comment")
	}
	all = all[1:]
	if !isStream(base) || len(all) == 0 || !strings.HasPrefix(all[0], documentHead) {
		out, err := applyHunks(lines(base), all)
		return []byte(strings.Join(out, "")), err
	}
	old, done := documents(base), []document{}
	known := slices.Clone(old)
	for len(all) > 0 {
		name, likeName, isLike := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(all[0], documentHead), "\n"), likeInfix)
		like, _ := find(old, name)
		if isLike {
			like, _ = find(known, likeName)
		}
		end := 1 + slices.IndexFunc(append(slices.Clone(all[1:]), documentHead), func(l string) bool { return strings.HasPrefix(l, documentHead) })
		text, err := applyHunks(lines([]byte(like.text)), all[1:end])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		d := newDocument(strings.Join(text, ""))
		done, known = append(done, d), with(known, d)
		all = all[end:]
	}
	out := &bytes.Buffer{}
	for _, d := range done {
		out.WriteString(separator + d.text)
	}
	return out.Bytes(), nil
}

// A change replaces base[from:to] by lines.
type change struct {
	from, to int
	lines    []string
}

// hunks are the changes from base to got, each with the context that says where
// it stands.
func hunks(base, got []string) string {
	out := &strings.Builder{}
	cursor := 0
	all := changes(base, got)
	for i, c := range all {
		next := len(base)
		if i+1 < len(all) {
			next = all[i+1].from
		}
		from, to := context(base, c, cursor, next)
		if from > cursor || i == 0 {
			out.WriteString(hunkHead + path(base, c.from) + "\n")
		}
		write(out, " ", base[from:c.from])
		write(out, "-", base[c.from:c.to])
		write(out, "+", c.lines)
		write(out, " ", base[c.to:to])
		cursor = to
	}
	return out.String()
}

// context is the part of base that a hunk shows: the fewest lines around c, one
// at least, that are found first at their place. It lies between cursor and next.
func context(base []string, c change, cursor, next int) (from, to int) {
	for n := 1; ; n++ {
		from, to = max(cursor, c.from-n), min(next, c.to+n)
		if locate(base, base[from:to], cursor) == from {
			return from, to
		}
	}
}

// locate is where some lines are found first in base, at cursor or later; -1 if
// they are not.
func locate(base, some []string, cursor int) int {
	for at := cursor; at+len(some) <= len(base); at++ {
		if slices.Equal(base[at:at+len(some)], some) {
			return at
		}
	}
	return -1
}

func applyHunks(base, all []string) ([]string, error) {
	var out []string
	cursor := 0
	for len(all) > 0 {
		if !strings.HasPrefix(all[0], hunkHead) {
			return nil, fmt.Errorf("%q is no head of a hunk", all[0])
		}
		end := 1 + slices.IndexFunc(append(slices.Clone(all[1:]), hunkHead), func(l string) bool { return strings.HasPrefix(l, hunkHead) })
		var before, after []string
		for _, l := range all[1:end] {
			if l[0] != '+' {
				before = append(before, l[1:])
			}
			if l[0] != '-' {
				after = append(after, l[1:])
			}
		}
		at := locate(base, before, cursor)
		if at < 0 {
			return nil, fmt.Errorf("%s is not found in the base", strings.TrimSpace(all[0]))
		}
		out = append(append(out, base[cursor:at]...), after...)
		cursor, all = at+len(before), all[end:]
	}
	return append(out, base[cursor:]...), nil
}

func write(out *strings.Builder, mark string, some []string) {
	for _, l := range some {
		out.WriteString(mark + l)
	}
}

// lines keep their line ends.
func lines(text []byte) []string { return slices.Collect(strings.Lines(string(text))) }

// changes are the fewest lines to take from base and put into it to get got.
func changes(base, got []string) []change {
	head := 0
	for head < len(base) && head < len(got) && base[head] == got[head] {
		head++
	}
	tail := 0
	for tail < len(base)-head && tail < len(got)-head && base[len(base)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	a, b := base[head:len(base)-tail], got[head:len(got)-tail]
	common := longestCommon(a, b)
	var out []change
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		if i < len(a) && j < len(b) && a[i] == b[j] && common[i][j] == common[i+1][j+1]+1 {
			i, j = i+1, j+1
			continue
		}
		c := change{from: head + i}
		for i < len(a) || j < len(b) {
			if i < len(a) && j < len(b) && a[i] == b[j] && common[i][j] == common[i+1][j+1]+1 {
				break
			}
			if j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1] {
				i++
				continue
			}
			c.lines = append(c.lines, b[j])
			j++
		}
		c.to = head + i
		out = append(out, c)
	}
	return out
}

// longestCommon[i][j] is the length of the longest common subsequence of a[i:]
// and b[j:].
func longestCommon(a, b []string) [][]int {
	out := make([][]int, len(a)+1)
	for i := range out {
		out[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			out[i][j] = max(out[i+1][j], out[i][j+1])
			if a[i] == b[j] {
				out[i][j] = max(out[i][j], out[i+1][j+1]+1)
			}
		}
	}
	return out
}
