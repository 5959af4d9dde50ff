package controllers

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/gather"
	"github.com/cldmnky/oooi/controllers/own"
	"github.com/cldmnky/oooi/controllers/waves"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/networks"
	"github.com/cldmnky/oooi/hcp/services"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/golden"
)

var testOptions = Options{
	Build:          "v0.1.0",
	Release:        desired.Release{Image: "registry.example.com/oooi-edge:v1", EnvoyImage: "registry.example.com/envoy:v1"},
	ServiceAccount: types.NamespacedName{Namespace: "oooi-system", Name: "oooi"},
}

var testNow = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// worldOf is a story's world with a control plane, the operator's rights, and
// nothing of oooi yet.
func worldOf(t *testing.T, story golden.Story) gather.World {
	t.Helper()
	dump := &files.Dump{}
	if err := dump.Add(story.Read(t, "objects.yaml")); err != nil {
		t.Fatal(err)
	}
	return worldOfClusters(dump.Clusters(), 0)
}

// worldOfClusters is the world of one of clusters, next to the others.
func worldOfClusters(clusters []hcp.Objects, at int) gather.World {
	w := gather.World{Objects: clusters[at], Turn: waves.Turn{Now: true}, APIServers: []netip.AddrPort{netip.MustParseAddrPort("192.0.2.11:6443"), netip.MustParseAddrPort("192.0.2.12:6443")}}
	for i := range w.Services {
		w.Services[i] = *services.CachedService(&w.Services[i]) // as the cache has it
	}
	w.Partial, w.Management.PriorityClass = false, "hypershift-api-critical"
	for i, other := range clusters {
		if i == at {
			continue
		}
		other.Partial = false
		if n, ok := hcp.NewNeighbor(other, network.Plan{}).For(w.Objects.HostedCluster, networks.All(w.Objects, network.Plan{})); ok {
			w.Others = append(w.Others, n)
		}
	}
	ns := hcp.ControlPlaneNamespace(w.HostedCluster)
	w.ControlPlane = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: w.HostedCluster.Name, UID: "6b1c2a52-0000-4000-8000-000000000000",
	}}
	w.Binding = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: own.ControlPlaneRole}}
	return w
}

// mayServe reports whether nothing among ps keeps a plan from being applied.
func mayServe(ps problem.Problems) bool {
	return !ps.Blocking() && !ps.Has(problem.WaitingForControlPlane)
}

// TestStories is the last step of each story: from the plan to the objects.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			w := worldOf(t, story)
			d := decide.About(w, testOptions.Release, testNow)
			// The address check comes first, and is no part of the story.
			if d.Action == decide.Serve {
				w.Edges = edgesOf(checked(t, w, d.Plan)...)
				d = decide.About(w, testOptions.Release, testNow)
			}
			text := story.Read(t, "plan.json")
			if text == nil || d.Problems.Has(problem.WaitingForControlPlane) {
				story.Check(t, "applied.yaml", nil)
				g.Expect(d.Action).To(Equal(decide.Leave))
				g.Expect(d.Desired).To(BeEmpty())
				return
			}
			g.Expect(d.Action).To(Equal(decide.Serve))
			g.Expect(planOf(t, d.Desired)).To(Equal(string(text)), "edges read the story's plan, to the byte")
			story.Check(t, "applied.yaml", manifest(t, slices.Insert(d.Desired, 0, own.Binding(w.ControlPlane, testOptions.ServiceAccount))))
		})
	}
}

var (
	bootstrapLine = regexp.MustCompile(`(?m)(- --config-yaml\n +- ).*$`)
	templateLine  = regexp.MustCompile(`(?m)^( +` + regexp.QuoteMeta(wire.Prefix) + `(?:template|release): ).*$`)
	planLines     = regexp.MustCompile(`(?m)^  plan.json: \|\n((?:    .*\n)+)`)
)

func manifest(t *testing.T, objects []*unstructured.Unstructured) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, u := range objects {
		b, err := yaml.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(b)
	}
	// What stands elsewhere is named here: Envoy's bootstrap is held by envoy's own
	// tests, the plan is the story's plan.json, and the hash is of the pod template
	// that follows it.
	text := bootstrapLine.ReplaceAll(out.Bytes(), []byte("${1}(bootstrap)"))
	text = templateLine.ReplaceAll(text, []byte("${1}(hash)"))
	return planLines.ReplaceAll(text, []byte("  plan.json: (plan.json)\n"))
}

// planOf is what the plan's ConfigMap holds.
func planOf(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	for _, u := range objects {
		if u.GetKind() == "ConfigMap" {
			text, _, err := unstructured.NestedString(u.Object, "data", "plan.json")
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	t.Fatal("no ConfigMap")
	return ""
}
