// Package argocd runs the health script of config/samples with the Lua engine of Argo CD. It is a module of its own, so that
// the operator does not depend on it.
package argocd

import (
	"os"
	"path/filepath"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// script is the one that the patch sets. It is the patch's only key, which Argo CD looks up for a HostedCluster.
func script(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", "argocd-health.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var patch struct {
		Data map[string]string `json:"data"`
	}
	if err := yaml.UnmarshalStrict(text, &patch); err != nil {
		t.Fatal(err)
	}
	found := patch.Data["resource.customizations.health.hypershift.openshift.io_HostedCluster"]
	if found == "" || len(patch.Data) != 1 {
		t.Fatalf("the patch has the keys %v", patch.Data)
	}
	return found
}

// object is a HostedCluster in YAML or JSON.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// judged runs the script about o with the libraries that Argo CD opens: the basic one and tables. Strings have no methods
// there.
func judged(t *testing.T, script string, o map[string]any) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", value(state, o))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returned %v", state.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

// value is v, which was decoded from JSON, in Lua.
func value(state *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		table := state.NewTable()
		for _, item := range v {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range v {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}

const (
	optedIn   = `annotations: {` + wire.Prefix + network.KeyNetwork + `: auto}`
	optedOut  = `annotations: {` + wire.Prefix + network.KeyNetwork + `: none}`
	available = `{type: Available, status: "True", message: control plane}`
	down      = `{type: Available, status: "False", message: control plane}`
	ready     = `{type: ` + wire.Prefix + `NetworkReady, status: "True", observedGeneration: 3, message: networks}`
	complete  = `version: {history: [{state: Partial}, {state: Completed}]}`
)

// failed is the condition with a reason.
func failed(reason string) string {
	return `{type: ` + wire.Prefix + `NetworkReady, status: "False", observedGeneration: 3, reason: ` + reason + `, message: networks}`
}

// cluster is a HostedCluster of generation 3.
func cluster(annotations, conditions, status string) string {
	return `{metadata: {generation: 3, ` + annotations + `}, status: {conditions: [` + conditions + `], ` + status + `}}`
}

// TestHealthOfAHostedCluster: it is healthy with its control plane and its networks. What a new cluster still waits for is
// progress, and a fault once nodes have joined.
func TestHealthOfAHostedCluster(t *testing.T) {
	run := script(t)
	for name, c := range map[string]struct{ object, status, message string }{
		"no status":                          {`{metadata: {generation: 1}}`, "Progressing", "HyperShift has not reported about the control plane."},
		"no status, opted in":                {`{metadata: {generation: 1, ` + optedIn + `}}`, "Progressing", "oooi has not reported about this generation."},
		"deleted":                            {`{metadata: {deletionTimestamp: "2026-11-28T12:00:00Z", ` + optedIn + `}}`, "Progressing", "The hosted cluster is being deleted."},
		"not opted in":                       {cluster("", available, ""), "Healthy", "control plane"},
		"not opted in, and down":             {cluster("", down, complete), "Degraded", "control plane"},
		"opted out":                          {cluster(optedOut, available+","+failed("Removing"), ""), "Healthy", "networks"},
		"all is well":                        {cluster(optedIn, available+","+ready, complete), "Healthy", "networks"},
		"the report is old":                  {`{metadata: {generation: 4, ` + optedIn + `}, status: {conditions: [` + available + `,` + ready + `]}}`, "Progressing", "oooi has not reported about this generation."},
		"the control plane starts":           {cluster(optedIn, down+","+ready, ""), "Progressing", "control plane"},
		"the control plane fails":            {cluster(optedIn, down+","+ready, complete), "Degraded", "control plane"},
		"paused":                             {cluster(optedIn, available+","+failed("Paused"), complete), "Suspended", "networks"},
		"the control plane has no condition": {cluster(optedIn, ready, ""), "Progressing", "HyperShift has not reported about the control plane."},
	} {
		t.Run(name, func(t *testing.T) {
			status, message := judged(t, run, object(t, c.object))
			if status != c.status || message != c.message {
				t.Errorf("%s: %s, want %s: %s", status, message, c.status, c.message)
			}
		})
	}
}

// TestHealthOfEachReason: a reason that ends by itself while a cluster is created is progress until nodes have joined. All
// others are faults at once: a user must act.
func TestHealthOfEachReason(t *testing.T) {
	run, waits := script(t), map[problem.Reason]bool{problem.EdgeNotReady: true} // an edge that starts has this reason, too
	for _, e := range problem.Catalogue() {
		waits[e.Reason] = waits[e.Reason] || e.Severity == problem.SeverityWaiting
	}
	for reason, waits := range waits {
		created, joined := "Degraded", "Degraded"
		switch {
		case reason == problem.Paused:
			created, joined = "Suspended", "Suspended"
		case waits:
			created = "Progressing"
		}
		for status, want := range map[string]string{"": created, complete: joined} {
			if got, _ := judged(t, run, object(t, cluster(optedIn, available+","+failed(string(reason)), status))); got != want {
				t.Errorf("%s %s: %s, want %s", reason, status, got, want)
			}
		}
	}
}
