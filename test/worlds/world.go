// Package worlds makes random inputs from the stories: annotations, fields and objects as users and
// other programs could have them. Tests check that laws hold for all of them.
package worlds

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/test/golden"
)

// A World is the objects of one story, changed or not.
type World struct {
	// Story that the world was made from.
	Story string
	// Changes made to it, in order, for messages.
	Changes []string
	objects []object
}

// An object is one manifest as JSON has it.
type object = map[string]any

// OfStories returns the unchanged world of each story.
func OfStories(t testing.TB) []World {
	t.Helper()
	var out []World
	for _, s := range golden.Stories(t) {
		w := World{Story: s.Name}
		for _, text := range bytes.Split(s.Read(t, "objects.yaml"), []byte("\n---\n")) {
			var o object
			if err := yaml.Unmarshal(text, &o); err != nil {
				t.Fatalf("story %s: %v", s.Name, err)
			}
			if o != nil {
				w.objects = append(w.objects, o)
			}
		}
		out = append(out, w)
	}
	return out
}

// Random returns one of worlds with up to changes changes. Equal seeds give equal worlds.
func Random(worlds []World, seed uint64, changes int) World {
	r := rand.New(rand.NewPCG(seed, 1))
	w := worlds[r.IntN(len(worlds))].copied()
	for range r.IntN(changes + 1) {
		w.change(r)
	}
	return w
}

// Later returns w with one to changes further changes. Equal seeds give equal worlds.
func (w World) Later(seed uint64, changes int) World {
	r := rand.New(rand.NewPCG(seed, 4))
	out := w.copied()
	for range 1 + r.IntN(changes) {
		out.change(r)
	}
	return out
}

// Shuffled returns w with its objects in another order.
func (w World) Shuffled(seed uint64) World {
	out := w.copied()
	r := rand.New(rand.NewPCG(seed, 2))
	r.Shuffle(len(out.objects), func(i, j int) { out.objects[i], out.objects[j] = out.objects[j], out.objects[i] })
	return out
}

// Manifests returns the objects as a stream of JSON documents, each a YAML document, too.
func (w World) Manifests() []byte {
	var out bytes.Buffer
	for _, o := range w.objects {
		b, err := json.Marshal(o)
		if err != nil {
			panic("worlds: an object is always JSON: " + err.Error())
		}
		out.WriteString("---\n")
		out.Write(append(b, '\n'))
	}
	return out.Bytes()
}

func (w World) copied() World {
	out := World{Story: w.Story, Changes: append([]string(nil), w.Changes...)}
	for _, o := range w.objects {
		out.objects = append(out.objects, copied(o).(object))
	}
	return out
}

// copied returns a deep copy of a JSON value.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = copied(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copied(v[i])
		}
		return out
	}
	return v
}

// countVariable is the number of worlds that each test makes, for long runs.
const countVariable = "OOOI_WORLDS"

// Count returns how many worlds a test makes: few, or the value of OOOI_WORLDS.
func Count(t testing.TB, few uint64) uint64 {
	t.Helper()
	text := os.Getenv(countVariable)
	if text == "" {
		return few
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", countVariable, err)
	}
	return n
}
