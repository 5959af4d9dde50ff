// This file shows the laws of renaming on every kind that a Kubernetes API server has.

package apirewrite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

const lawRules = `version: 1
groups:
- client: kubevirt.io
  server: internal.virt.example
  kindPrefix: Internal
  resourcePrefix: internal
  resources: {virtualmachines: VirtualMachine, virtualmachineinstances: VirtualMachineInstance}
keys:
- {client: kubevirt.io/, server: internal.virt.example/}
`

// A law is what holds for one object.
type law struct {
	corpus    corpus
	reference reference
	rules     *apirewrite.Rules
}

func newLaw() (law, error) {
	c, err := newCorpus()
	if err != nil {
		return law{}, err
	}
	reference, err := newReference(lawRules)
	if err != nil {
		return law{}, err
	}
	rules, err := apirewrite.Parse("rules", []byte(lawRules))
	return law{c, reference, rules}, err
}

// encoded is an object as an API server writes it: with escapes for HTML. The kind of custom resources is not the first.
func encoded(v any, kindFirst bool) []byte {
	object := member(v)
	kind := object["kind"]
	defer func() { object["kind"] = kind }()
	first := "{"
	if kindFirst {
		first = fmt.Sprintf(`{"kind":%q,`, kind)
		delete(object, "kind")
	}
	text, _ := json.Marshal(object) // It was decoded.
	return append([]byte(first), text[1:]...)
}

func (l law) toServer(text []byte) ([]byte, error) {
	return l.rules.Body("application/json", text, apirewrite.Target{}, apirewrite.ToServer)
}

func (l law) toClient(of schema.GroupVersionKind) func([]byte) ([]byte, error) {
	asked := apirewrite.Target{API: true, Group: of.Group, Resource: strings.ToLower(strings.TrimSuffix(of.Kind, "List")) + "s"}
	return func(text []byte) ([]byte, error) {
		return io.ReadAll(l.rules.Answer(bytes.NewReader(text), asked, apirewrite.Largest))
	}
}

// check reports the laws that the object of a kind with a seed breaks.
func (l law) check(kind int, seed int64) error {
	of := l.corpus.kinds[kind%len(l.corpus.kinds)]
	r := rand.New(rand.NewSource(seed))
	for _, words := range []strewer{{r, "kubevirt.io", "", true}, {r, "internal.virt.example", "Internal", true}} {
		object, err := l.corpus.object(of, seed)
		if err != nil {
			return err
		}
		if err := l.bothWays(encoded(words.strew(object, ""), seed%2 == 0), l.toClient(of)); err != nil {
			return fmt.Errorf("%s with words of %s: %w", of, words.group, err)
		}
	}
	object, err := l.corpus.object(of, seed)
	if err != nil {
		return err
	}
	there, err := l.toClient(of)(encoded(strewer{r, "internal.virt.example", "Internal", false}.strew(object, ""), seed%2 == 0))
	if err != nil {
		return err
	}
	for _, word := range []string{"internal.virt.example", "internalvirtualmachine", "InternalVirtualMachine"} {
		if at := bytes.Index(there, []byte(word)); at >= 0 {
			return fmt.Errorf("%s has a word of the server for its client: %s", of, there[max(0, at-150):min(len(there), at+50)])
		}
	}
	return nil
}

// bothWays: a document is renamed as the reference does, whichever way it goes, and what comes back is the same, byte for byte.
func (l law) bothWays(text []byte, toClient func([]byte) ([]byte, error)) error {
	before, err := decode(text)
	if err != nil {
		return err
	}
	want := l.reference.document(before)
	for name, ways := range map[string][2]func([]byte) ([]byte, error){"to the server": {l.toServer, toClient}, "to the client": {toClient, l.toServer}} {
		there, err := ways[0](text)
		if err != nil {
			return err
		}
		after, err := decode(there)
		if err != nil {
			return fmt.Errorf("%s: %w in %s", name, err, there)
		}
		if at, same := differs(want, after); !same {
			return fmt.Errorf("%s is not as in the reference: %s", name, at)
		}
		back, err := ways[1](there)
		if err != nil {
			return err
		}
		if !bytes.Equal(text, back) {
			again, _ := decode(back)
			at, same := differs(before, again)
			if same {
				at = "it has another spelling"
			}
			return fmt.Errorf("%s and back is not the same: %s", name, at)
		}
	}
	return nil
}

// differs returns where two values differ first.
func differs(want, got any) (at string, same bool) {
	a, isObject := want.(map[string]any)
	b, isObject2 := got.(map[string]any)
	if isObject && isObject2 {
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if _, ok := b[name]; !ok {
				return fmt.Sprintf(" has not %q", name), false
			}
			if at, same := differs(a[name], b[name]); !same {
				return "." + name + at, false
			}
		}
		return fmt.Sprintf(" has %d names and not %d", len(b), len(a)), len(a) == len(b)
	}
	c, isArray := want.([]any)
	d, isArray2 := got.([]any)
	if isArray && isArray2 && len(c) == len(d) {
		for i := range c {
			if at, same := differs(c[i], d[i]); !same {
				return fmt.Sprintf("[%d]%s", i, at), false
			}
		}
		return "", true
	}
	return fmt.Sprintf(" is %v and not %v", got, want), reflect.DeepEqual(want, got)
}

// TestLaws on an object of each kind.
func TestLaws(t *testing.T) {
	g := NewWithT(t)
	l, err := newLaw()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(l.corpus.kinds)).To(BeNumerically(">", 200))
	for kind := range l.corpus.kinds {
		if err := l.check(kind, int64(kind)); err != nil {
			t.Error(err)
		}
	}
}

// FuzzLaws on further objects.
func FuzzLaws(f *testing.F) {
	l, err := newLaw()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, int64(2))
	f.Fuzz(func(t *testing.T, kind int, seed int64) {
		if err := l.check(max(kind, -kind-1), seed); err != nil {
			t.Fatal(err)
		}
	})
}
