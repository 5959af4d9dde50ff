package resources

import (
	"encoding/json"
	"net/netip"
	"os/exec"
	"testing"

	. "github.com/onsi/gomega"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/programs"
)

// TestStories: the resources that Envoy gets in each story, before any pod of a backend was seen.
func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			b := story.Read(t, "plan.json")
			if b == nil {
				story.Check(t, "envoy.json", nil)
				return
			}
			var p network.Plan
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
			all := map[string]any{}
			for _, n := range p.Networks {
				all[n.Name] = readable(t, New(n, Options{Device: "net1", UpstreamDevice: "eth0", ReachSocket: "/run/oooi/envoy/reach.sock", Limits: NewLimits(2560<<20, 1<<20)}, nil))
			}
			out, err := json.MarshalIndent(all, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			story.Check(t, "envoy.json", append(out, '\n'))
		})
	}
}

func readable(t *testing.T, r Resources) map[string]any {
	return map[string]any{"clusters": decoded(t, r.Clusters), "endpoints": decoded(t, r.Endpoints), "listeners": decoded(t, r.Listeners), "runtimes": decoded(t, r.Runtimes)}
}

func decoded[M proto.Message](t *testing.T, all map[string]M) map[string]any {
	out := map[string]any{}
	for name, m := range all {
		b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(b, &v); err != nil {
			t.Fatal(err)
		}
		out[name] = v
	}
	return out
}

// TestEnvoyFindsNothingWrong: a real Envoy accepts the resources of every story, and those of a network with everything that a plan can
// contain.
func TestEnvoyFindsNothingWrong(t *testing.T) {
	program := programs.RequireEnvoy(t)
	all := map[string]network.Network{"blue": blue(), "nothing": {}}
	all["blue"].Listeners[0].Default = api.Name
	for _, story := range golden.Stories(t) {
		var p network.Plan
		if b := story.Read(t, "plan.json"); b != nil {
			if err := json.Unmarshal(b, &p); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range p.Networks {
			all[story.Name+" "+n.Name] = n
		}
	}
	some := map[string][]netip.AddrPort{api.Name: {netip.MustParseAddrPort("10.128.0.7:7443")}, oauth.Name: {}}
	for name, n := range all {
		t.Run(name, func(t *testing.T) {
			validate(t, program, New(n, Options{Device: "net1", UpstreamDevice: "eth0", ReachSocket: "/run/oooi/envoy/reach.sock", Limits: NewLimits(2560<<20, 1<<20)}, some))
		})
	}
}

// TestEnvoyWouldFindWhatIsWrong: the check of TestEnvoyFindsNothingWrong does reject invalid resources.
func TestEnvoyWouldFindWhatIsWrong(t *testing.T) {
	program := programs.RequireEnvoy(t)
	r := New(blue(), Options{}, nil)
	l := r.Listeners["192.168.100.3:443"]
	l.FilterChains = append(l.FilterChains, l.FilterChains[0])
	g := NewWithT(t)
	out, err := exec.Command(program, validateArguments(t, r)...).CombinedOutput()
	g.Expect(err).To(HaveOccurred())
	g.Expect(string(out)).To(ContainSubstring("same matching rules"))
}

func validate(t *testing.T, program string, r Resources) {
	t.Helper()
	if out, err := exec.Command(program, validateArguments(t, r)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// validateArguments put r into a bootstrap, since Envoy validates nothing else,
// with fields that it does not know as errors.
func validateArguments(t *testing.T, r Resources) []string {
	t.Helper()
	b := newBootstrap(Dirs{Server: t.TempDir(), Envoy: t.TempDir()}, "test", NewLimits(2560<<20, 1<<20))
	for _, l := range r.Listeners {
		b.StaticResources.Listeners = append(b.StaticResources.Listeners, l)
	}
	for _, c := range r.Clusters {
		b.StaticResources.Clusters = append(b.StaticResources.Clusters, c)
	}
	text, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--mode", "validate", "--disable-hot-restart", "--log-level", "error", "--config-yaml", string(text)}
}
