package annotations_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/config/annotations"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// TestGoldenPolicies: the policies are those of the table.
func TestGoldenPolicies(t *testing.T) {
	for name, text := range annotations.Files() {
		golden.Check(t, filepath.Join(golden.Root(t), name), []byte(text))
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
				add(verdict{Kind: kind, Key: settings.Prefix + k.Name, Value: value, Labels: map[string]string{settings.LabelHostedService: "git"}})
			}
		}
	}
	const cluster = string(settings.OnHostedCluster)
	add(verdict{Kind: cluster, Key: settings.Prefix + network.KeyCIDR, Value: "x", Denied: asks(cluster, "blue", network.KeyCIDR, "x"),
		Labels: map[string]string{settings.LabelHostedService: "git"}})
	golden.Check(t, filepath.Join("testdata", "verdicts.json"), []byte(b.String()))
}
