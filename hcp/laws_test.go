package hcp_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	. "github.com/onsi/gomega"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
)

// storyObjects returns the objects of every story.
func storyObjects(t testing.TB) []hcp.Objects {
	t.Helper()
	var out []hcp.Objects
	for _, s := range golden.Stories(t) {
		dump := &hcp.Dump{}
		if err := dump.Add(s.Read(t, "objects.yaml")); err != nil {
			t.Fatal(err)
		}
		for _, o := range dump.Clusters() {
			o.Partial = false
			out = append(out, o)
		}
	}
	return out
}

// deepCopy returns a copy of o that can be changed.
func deepCopy(o hcp.Objects) hcp.Objects {
	o.HostedCluster = o.HostedCluster.DeepCopy()
	o.NodePools = copies(o.NodePools, func(x *hyperv1.NodePool) hyperv1.NodePool { return *x.DeepCopy() })
	o.NetworkAttachmentDefinitions = copies(o.NetworkAttachmentDefinitions, func(x *nadv1.NetworkAttachmentDefinition) nadv1.NetworkAttachmentDefinition { return *x.DeepCopy() })
	o.Services, o.Routes, o.VMs = slices.Clone(o.Services), slices.Clone(o.Routes), slices.Clone(o.VMs)
	return o
}

func copies[T any](in []T, deep func(*T) T) []T {
	out := make([]T, len(in))
	for i := range in {
		out[i] = deep(&in[i])
	}
	return out
}

// odd holds values that are valid for no key, or for many.
var odd = []string{"", " ", ",", "=", "none", "auto", "true", "0", "-1", "1h", "99999999h", "0.0.0.0/0", "10.0.0.0/8", "192.168.100.0/29", "192.168.100.0/32",
	"255.255.255.255", "0.0.0.0", "224.0.0.1", "::1", "fd00::/64", "192.168.100.255", "192.168.100.3", "192.168.100.9-192.168.100.1", "0.0.0.0-255.255.255.255",
	"02:00:00:00:00:01=192.168.100.3", "a.example.com:443", "*.example.com=192.168.100.9", "*:0", "dhcp", "dns,dns", "clusters/vlan100", "clusters/none", "1", "2", "3", "a=b,a=b", "a=b,c=", "\x00", "ü.example.com"}

// sprinkle sets random annotations on an object: valid, almost valid and arbitrary
// values of known and misspelled keys.
func sprinkle(r *rand.Rand, m *metav1.ObjectMeta, pools []hyperv1.NodePool) {
	annotations := map[string]string{}
	for k, v := range m.Annotations {
		annotations[k] = v
	}
	for range r.IntN(4) {
		k := settings.Keys()[r.IntN(len(settings.Keys()))]
		name, value := k.Name, k.Example
		if k.PerNodePool && len(pools) > 0 && r.IntN(3) == 0 {
			name += "." + pools[r.IntN(len(pools))].Name
		}
		switch r.IntN(5) {
		case 0:
			value = odd[r.IntN(len(odd))]
		case 1:
			value = bent(r, value)
		case 2:
			value = settings.Keys()[r.IntN(len(settings.Keys()))].Example
		}
		if r.IntN(10) == 0 {
			name = bent(r, name)
		}
		annotations[settings.Prefix+name] = value
	}
	m.Annotations = annotations
}

// bent returns s with one byte removed, doubled or replaced.
func bent(r *rand.Rand, s string) string {
	if s == "" {
		return "x"
	}
	i := r.IntN(len(s))
	switch r.IntN(3) {
	case 0:
		return s[:i] + s[i+1:]
	case 1:
		return s[:i] + s[i:i+1] + s[i:]
	}
	return s[:i] + string(rune('0'+r.IntN(64))) + s[i+1:]
}

// annotated returns one of worlds with random annotations on its objects.
func annotated(r *rand.Rand, worlds []hcp.Objects) hcp.Objects {
	o := deepCopy(worlds[r.IntN(len(worlds))])
	if len(o.NodePools) > 0 && r.IntN(2) == 0 {
		o.NodePools = append(o.NodePools, another(o, "further", r.IntN(2) == 0))
	}
	sprinkle(r, &o.HostedCluster.ObjectMeta, o.NodePools)
	for i := range o.NodePools {
		if r.IntN(2) == 0 {
			sprinkle(r, &o.NodePools[i].ObjectMeta, nil)
		}
	}
	for i := range o.NetworkAttachmentDefinitions {
		if r.IntN(2) == 0 {
			sprinkle(r, &o.NetworkAttachmentDefinitions[i].ObjectMeta, nil)
		}
	}
	for i := range o.Services {
		if r.IntN(3) == 0 {
			o.Services[i] = *o.Services[i].DeepCopy()
			sprinkle(r, &o.Services[i].ObjectMeta, nil)
		}
	}
	return o
}

// another returns a further NodePool, on the first one's network or on a network of its
// own without a NetworkAttachmentDefinition.
func another(o hcp.Objects, name string, ownNetwork bool) hyperv1.NodePool {
	np := *o.NodePools[0].DeepCopy()
	np.Name, np.Annotations = name, nil
	if k := np.Spec.Platform.Kubevirt; ownNetwork && k != nil {
		k.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/" + name}}
	}
	return np
}

func shuffled(r *rand.Rand, o hcp.Objects) hcp.Objects {
	o = deepCopy(o)
	r.Shuffle(len(o.NodePools), func(i, j int) { o.NodePools[i], o.NodePools[j] = o.NodePools[j], o.NodePools[i] })
	r.Shuffle(len(o.Routes), func(i, j int) { o.Routes[i], o.Routes[j] = o.Routes[j], o.Routes[i] })
	r.Shuffle(len(o.Services), func(i, j int) { o.Services[i], o.Services[j] = o.Services[j], o.Services[i] })
	n := o.NetworkAttachmentDefinitions
	r.Shuffle(len(n), func(i, j int) { n[i], n[j] = n[j], n[i] })
	return o
}

// planned returns the plan that the operator would apply to o after last. ok is false
// if it would keep last.
func planned(t *testing.T, o hcp.Objects, last network.Plan) (p network.Plan, problems network.Problems, ok bool) {
	t.Helper()
	in, _ := translated(o)
	d := network.Derive(in.Request, in.Facts, last, nil)
	plan, ok := d.Plan()
	if !ok {
		return d.Draft(), d.Problems, false
	}
	if err := plan.Validate(); err != nil {
		t.Fatalf("the plan has no errors but is invalid: %v\n%s", err, describe(o))
	}
	return plan, d.Problems, true
}

func describe(o hcp.Objects) string {
	all := map[string]map[string]string{"HostedCluster " + o.HostedCluster.Name: o.HostedCluster.Annotations}
	for _, np := range o.NodePools {
		all["NodePool "+np.Name] = np.Annotations
	}
	for _, n := range o.NetworkAttachmentDefinitions {
		all["NetworkAttachmentDefinition "+n.Name] = n.Annotations
	}
	for _, s := range o.Services {
		if len(s.Annotations) > 0 {
			all["Service "+s.Name] = s.Annotations
		}
	}
	b, _ := json.MarshalIndent(all, "", "  ")
	return string(b)
}

// inUse returns the pinned addresses of each network.
func inUse(p network.Plan) map[string]string {
	out := map[string]string{}
	for _, n := range p.Networks {
		var own []netip.Addr // two, even if one edge runs
		for _, e := range n.Edges {
			own = append(own, e.Address)
		}
		own = append(own, n.ReservedAddresses...)
		out[n.Name] = fmt.Sprint(n.CIDR, n.NextHopVIP, n.ServiceVIP, own, n.DHCP.Range, n.DHCP.ServerID)
	}
	return out
}

// laws checks one world.
func laws(t *testing.T, worlds []hcp.Objects, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	o := annotated(r, worlds)
	plan, problems, ok := planned(t, o, network.Plan{})

	again, same, _ := planned(t, shuffled(r, o), network.Plan{})
	if d := cmp.Diff(string(plan.JSON()), string(again.JSON())); d != "" {
		t.Fatalf("the order of objects changes the plan: %s\n%s", d, describe(o))
	}
	if len(problems) != len(same) {
		t.Fatalf("the order of objects changes the problems: %v\n%v\n%s", problems, same, describe(o))
	}
	if !ok {
		return
	}
	var last network.Plan
	NewWithT(t).Expect(json.Unmarshal(plan.JSON(), &last)).To(Succeed())
	if again, _, _ := planned(t, o, last); string(again.JSON()) != string(plan.JSON()) {
		t.Fatalf("a restart changes the plan: %s\n%s", cmp.Diff(string(plan.JSON()), string(again.JSON())), describe(o))
	}
	for name, next := range neighbouring(r, o) {
		after, _, ok := planned(t, next, last)
		if !ok {
			continue // the operator keeps the plan in force
		}
		now := inUse(after)
		for network, before := range inUse(plan) {
			if got, there := now[network]; there && got != before {
				t.Fatalf("%s moves %s: %s to %s\n%s", name, network, before, got, describe(o))
			}
		}
	}
}

// neighbouring returns worlds that differ from o in one change. No change affects the
// addresses in use.
func neighbouring(r *rand.Rand, o hcp.Objects) map[string]hcp.Objects {
	out := map[string]hcp.Objects{}
	step := func(name string, change func(*hcp.Objects)) {
		next := deepCopy(o)
		change(&next)
		out[name] = next
	}
	if len(o.NodePools) > 0 {
		step("one more NodePool", func(o *hcp.Objects) { o.NodePools = append(o.NodePools, another(*o, "a-new", false)) })
		step("one more network", func(o *hcp.Objects) { o.NodePools = append(o.NodePools, another(*o, "a-new", true)) })
		// Removing a NodePool removes the CIDR that it sets.
		if i := r.IntN(len(o.NodePools)); !annotatedFor(o, o.NodePools[i]) {
			step("remove a NodePool", func(o *hcp.Objects) { o.NodePools = slices.Delete(o.NodePools, i, i+1) })
		}
	}
	for _, edges := range []string{"1", "2"} {
		step(edges+" edges", func(o *hcp.Objects) {
			o.HostedCluster.Annotations[settings.Prefix+"edges"] = edges
		})
	}
	if len(o.NodePools) > 0 && !annotatedFor(o, o.NodePools[oldest(o)]) {
		step("a NodePool changes its network", func(o *hcp.Objects) {
			moved := oldest(*o)
			addVM(o, o.NodePools[moved])
			changed := another(*o, "changed", true)
			o.NodePools[moved].Spec.Platform.Kubevirt.AdditionalNetworks = changed.Spec.Platform.Kubevirt.AdditionalNetworks
			define(o, "changed")
		})
		step("remove the oldest NodePool, keep its VM", func(o *hcp.Objects) {
			gone := oldest(*o)
			addVM(o, o.NodePools[gone])
			o.NodePools = append(slices.Delete(o.NodePools, gone, gone+1), another(*o, "younger", true))
			define(o, "younger")
		})
	}
	if len(o.Routes) > 0 {
		step("remove a Route", func(o *hcp.Objects) { o.Routes = o.Routes[1:] })
	}
	if len(o.Services) > 0 {
		step("remove a Service", func(o *hcp.Objects) { o.Services = o.Services[1:] })
	}
	step("remove all NetworkAttachmentDefinitions", func(o *hcp.Objects) { o.NetworkAttachmentDefinitions = nil })
	return out
}

func oldest(o hcp.Objects) int {
	i := 0
	for j, np := range o.NodePools {
		if np.CreationTimestamp.Before(&o.NodePools[i].CreationTimestamp) {
			i = j
		}
	}
	return i
}

// annotatedFor reports whether addresses might depend on annotations for np.
func annotatedFor(o hcp.Objects, np hyperv1.NodePool) bool {
	for key := range o.HostedCluster.Annotations {
		if strings.HasSuffix(key, "."+np.Name) {
			return true
		}
	}
	return len(np.Annotations) > 0 || np.Spec.Platform.Kubevirt == nil
}

// addVM adds a VM of np, attached to np's current networks.
func addVM(o *hcp.Objects, np hyperv1.NodePool) {
	m := kubevirtv1.VirtualMachineInstance{}
	m.Name, m.Namespace = "remaining", hcp.ControlPlaneNamespace(o.HostedCluster)
	for _, n := range np.Spec.Platform.Kubevirt.AdditionalNetworks {
		m.Spec.Networks = append(m.Spec.Networks, kubevirtv1.Network{Name: n.Name, NetworkSource: kubevirtv1.NetworkSource{Multus: &kubevirtv1.MultusNetwork{NetworkName: n.Name}}})
	}
	o.VMs = append(o.VMs, m)
}

// define adds a NetworkAttachmentDefinition with its own bridge.
func define(o *hcp.Objects, name string) {
	nad := nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
	nad.Spec.Config = `{"cniVersion":"0.3.1","type":"bridge","bridge":"` + name + `"}`
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
}

// TestLaws checks random annotations. The result is a valid plan or problems, the order
// of objects does not matter, and unrelated changes move no address in use.
func TestLaws(t *testing.T) {
	worlds := storyObjects(t)
	plans := 0
	for seed := range uint64(1500) {
		laws(t, worlds, seed)
		if _, _, ok := planned(t, annotated(rand.New(rand.NewPCG(seed, 3)), worlds), network.Plan{}); ok {
			plans++
		}
	}
	if plans < 100 {
		t.Fatalf("only %d of the worlds have a plan", plans)
	}
}

func FuzzLaws(f *testing.F) {
	worlds := storyObjects(f)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { laws(t, worlds, seed) })
}
