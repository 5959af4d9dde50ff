// This file changes one field of an object: removes it, repeats it, or gives it another value of the same
// type or of another one.

package worlds

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
)

// A place is one field of an object, or one entry of a list.
type place struct {
	in  map[string]any
	key string
	// text is the path, for messages.
	text string
}

// paths returns all fields below in, sorted. Names and kinds are not among them: change has its own ways
// to rename and to remove objects.
func paths(in map[string]any, prefix string) []place {
	var out []place
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if prefix == "" && (key == "kind" || key == "apiVersion") || prefix == ".metadata" && (key == "name" || key == "namespace") {
			continue
		}
		text := prefix + "." + key
		if prefix != "" || key != "metadata" {
			out = append(out, place{in, key, text})
		}
		switch v := in[key].(type) {
		case map[string]any:
			out = append(out, paths(v, text)...)
		case []any:
			for i, item := range v {
				if m, ok := item.(map[string]any); ok {
					out = append(out, paths(m, fmt.Sprintf("%s[%d]", text, i))...)
				}
			}
		}
	}
	return out
}

func pick(r *rand.Rand, all []place) place {
	if len(all) == 0 {
		return place{}
	}
	return all[r.IntN(len(all))]
}

// change changes the field and returns what it did.
func (p place) change(r *rand.Rand, w *World) string {
	if r.IntN(4) == 0 {
		delete(p.in, p.key)
		return p.text + " removed"
	}
	switch v := p.in[p.key].(type) {
	case []any:
		p.in[p.key] = listed(r, v)
	case string:
		p.in[p.key] = another(r, v, w)
	case float64, int64:
		p.in[p.key] = []any{float64(0), float64(-1), float64(1), float64(53), float64(443), float64(65535), float64(65536), float64(70000), "8080"}[r.IntN(9)]
	case bool:
		p.in[p.key] = !v
	default:
		p.in[p.key] = []any{nil, "x", map[string]any{}, []any{}, float64(7)}[r.IntN(5)]
	}
	return fmt.Sprintf("%s=%v", p.text, p.in[p.key])
}

// listed returns list with an entry removed, repeated or moved.
func listed(r *rand.Rand, list []any) []any {
	if len(list) == 0 {
		return []any{"x"}
	}
	i := r.IntN(len(list))
	switch r.IntN(3) {
	case 0:
		return slices.Delete(slices.Clone(list), i, i+1)
	case 1:
		return append(slices.Clone(list), copied(list[i]))
	}
	out := slices.Clone(list)
	slices.Reverse(out)
	return out
}

// another returns a text in place of s: an odd one, s with one byte changed, or a text from elsewhere in w.
func another(r *rand.Rand, s string, w *World) any {
	switch r.IntN(4) {
	case 0:
		return oddValue(r)
	case 1:
		return bent(r, s)
	case 2:
		return r.IntN(2) == 0
	}
	other := pick(r, paths(w.objects[r.IntN(len(w.objects))], ""))
	if text, ok := other.in[other.key].(string); ok {
		return text
	}
	return s
}
