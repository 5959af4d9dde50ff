package annotations_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cldmnky/oooi/config/admission/annotations"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/test/golden"
)

// TestPoliciesAreFresh: the policies are those of the table.
func TestPoliciesAreFresh(t *testing.T) {
	for name, want := range annotations.Files() {
		got, err := os.ReadFile(filepath.Join("..", "..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the table says: run make golden (-want +got):\n%s", name, cmp.Diff(want, string(got)))
		}
	}
}

// A verdict is what the operator says about one value. An empty Denied means that the API server
// accepts it.
type verdict struct {
	Kind, Key, Value, Denied string
	// Labels are those of the object.
	Labels map[string]string `json:",omitempty"`
}

// TestGoldenVerdicts: test/oldest compares them with those of the oldest Kubernetes.
func TestGoldenVerdicts(t *testing.T) {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	add := func(v verdict) {
		if err := out.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range settings.Keys() {
		v, _ := casesOf(k)
		kind := string(k.On[0])
		for _, value := range slices.Concat([]string{k.Example}, v.good, v.operatorOnly) {
			add(verdict{Kind: kind, Key: settings.Prefix + k.Name, Value: value})
		}
		for _, value := range v.bad {
			add(verdict{Kind: kind, Key: settings.Prefix + k.Name, Value: value, Denied: asks(kind, "blue", k.Name, value)})
			if kind == string(settings.OnService) {
				add(verdict{Kind: kind, Key: settings.Prefix + k.Name, Value: value, Labels: map[string]string{settings.LabelGuestService: "git"}})
			}
		}
	}
	const cluster = string(settings.OnHostedCluster)
	add(verdict{Kind: cluster, Key: settings.Prefix + settings.KeyCIDR, Value: "x", Denied: asks(cluster, "blue", settings.KeyCIDR, "x"),
		Labels: map[string]string{settings.LabelGuestService: "git"}})
	golden.Check(t, filepath.Join("testdata", "verdicts.json"), []byte(b.String()))
}
