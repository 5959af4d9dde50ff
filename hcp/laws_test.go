package hcp_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	nadv1 "github.com/k8snetworkplumbingwg/network-attachment-definition-client/pkg/apis/k8s.cni.cncf.io/v1"
	hyperv1 "github.com/openshift/hypershift/api/hypershift/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/lenient"
	"github.com/cldmnky/oooi/hcp/objects"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/worlds"
)

// storyObjects returns the objects of every story.
func storyObjects(t testing.TB) []hcp.Objects {
	t.Helper()
	var out []hcp.Objects
	for _, w := range worlds.OfStories(t) {
		out = append(out, objectsOf(w)...)
	}
	return out
}

// objectsOf returns the objects of each hosted cluster in w, all that there are. None: an object is as no
// API server has it.
func objectsOf(w worlds.World) []hcp.Objects {
	dump := &files.Dump{}
	if dump.Add(w.Manifests()) != nil {
		return nil
	}
	out := dump.Clusters()
	for i := range out {
		out[i].Partial = false
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

// another returns a further NodePool, on the first one's network or on a network of its
// own without a NetworkAttachmentDefinition.
func another(o hcp.Objects, name string, ownNetwork bool) hyperv1.NodePool {
	np := *o.NodePools[0].DeepCopy()
	np.Name, np.Annotations = name, nil
	if !np.CreationTimestamp.IsZero() {
		np.CreationTimestamp = metav1.NewTime(np.CreationTimestamp.Add(time.Hour))
	}
	if k := np.Spec.Platform.Kubevirt; ownNetwork && k != nil {
		k.AdditionalNetworks = []hyperv1.KubevirtNetwork{{Name: "clusters/" + name}}
	}
	return np
}

// planned returns the plan that the operator would apply to o after last. ok is false
// if it would keep last.
func planned(o hcp.Objects, last network.Plan) (p network.Plan, problems problem.Problems, ok bool) {
	request, facts := hcp.Translate(o, last)
	d := derive.Derive(request, facts, last, nil)
	plan, ok := d.Plan()
	if !ok {
		plan = d.Draft()
	}
	return plan, d.Problems, ok
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

// changesOfWorld is the largest number of changes that one world has.
const changesOfWorld = 4

// broken are the laws that one world breaks.
type broken []string

func (b *broken) law(format string, args ...any) { *b = append(*b, fmt.Sprintf(format, args...)) }

// laws checks one world. plans is how many of its hosted clusters have a plan.
func laws(stories []worlds.World, seed uint64) (out broken, plans int) {
	w := worlds.Random(stories, seed, changesOfWorld)
	shuffled := objectsOf(w.Shuffled(seed))
	for i, o := range objectsOf(w) {
		if out.ofCluster(o, shuffled[i], seed) {
			plans++
		}
	}
	if len(out) > 0 {
		out.law("seed %d, story %s: %s", seed, w.Story, strings.Join(w.Changes, "; "))
	}
	return out, plans
}

// ofCluster checks one hosted cluster. same is o in another order. ok is true if it has a plan.
func (b *broken) ofCluster(o, same hcp.Objects, seed uint64) (ok bool) {
	if !hcp.OptedIn(o.HostedCluster) {
		return false
	}
	plan, problems, ok := planned(o, network.Plan{})
	again, others, _ := planned(same, network.Plan{})
	if d := cmp.Diff(string(plan.JSON()), string(again.JSON())); d != "" {
		b.law("the order of objects changes the plan: %s", d)
	}
	if d := cmp.Diff(sortedTexts(problems), sortedTexts(others)); d != "" {
		b.law("the order of objects changes the problems: %s", d)
	}
	if !ok {
		return false
	}
	if err := plan.Validate(); err != nil {
		b.law("the plan has no errors, and is invalid: %v", err)
	}
	if !problems.Waiting() && len(problems.Of(problem.SeverityError)) == 0 {
		b.timeOfNodes(plan, problems)
		b.needsOfNodes(o, plan)
		b.searches(o, plan, problems)
	}
	last, err := network.ReadPlan(plan.JSON())
	if err != nil {
		b.law("edges cannot read the plan: %v", err)
	}
	if again, _, _ := planned(o, last); string(again.JSON()) != string(plan.JSON()) {
		b.law("a restart changes the plan: %s", cmp.Diff(string(plan.JSON()), string(again.JSON())))
	}
	for name, next := range neighbouring(rand.New(rand.NewPCG(seed, 3)), o) {
		after, _, ok := planned(next, last)
		if !ok {
			continue // the operator keeps the plan in force
		}
		if err := after.Validate(); err != nil {
			b.law("%s: the plan has no errors, and is invalid: %v", name, err)
		}
		now := inUse(after)
		for network, before := range inUse(plan) {
			if got, there := now[network]; there && got != before {
				b.law("%s moves %s: %s to %s", name, network, before, got)
			}
		}
		b.ofVMs(name, next, plan, after)
	}
	return true
}

// ofVMs checks that VMs of o keep their networks when after follows before, and all servers on those
// that they boot from.
func (b *broken) ofVMs(name string, o hcp.Objects, before, after network.Plan) {
	_, facts := hcp.Translate(o, before)
	for _, was := range before.Networks {
		i := slices.IndexFunc(after.Networks, func(n network.Network) bool { return n.Name == was.Name })
		switch {
		case !slices.Contains(facts.InUse, was.Name):
		case i < 0:
			b.law("%s removes %s, which VMs use", name, was.Name)
		case slices.Contains(facts.BootedFrom, was.Name) && was.Primary && !after.Networks[i].Primary:
			b.law("%s makes %s secondary, and VMs boot from it", name, was.Name)
		}
	}
}

// sortedTexts returns ps as text, with all their fields.
func sortedTexts(ps problem.Problems) []string {
	var out []string
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%+v", p))
	}
	slices.Sort(out)
	return out
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
		further := hyperv1.KubevirtNetwork{Name: "clusters/further"}
		step("another network comes first in a NodePool", func(o *hcp.Objects) {
			np := &o.NodePools[oldest(*o)]
			addVM(o, *np)
			k := np.Spec.Platform.Kubevirt
			k.AdditionalNetworks = append([]hyperv1.KubevirtNetwork{further}, k.AdditionalNetworks...)
			define(o, "further")
		})
		step("a NodePool swaps its networks", func(o *hcp.Objects) {
			np := &o.NodePools[oldest(*o)]
			addVM(o, *np)
			slices.Reverse(np.Spec.Platform.Kubevirt.AdditionalNetworks)
		})
		step("a NodePool attaches the pod network", func(o *hcp.Objects) {
			np := &o.NodePools[oldest(*o)]
			addVM(o, *np)
			np.Spec.Platform.Kubevirt.AttachDefaultNetwork = new(bool)
			*np.Spec.Platform.Kubevirt.AttachDefaultNetwork = true
		})
		step("annotation network follows a NodePool to another network", func(o *hcp.Objects) {
			np := &o.NodePools[oldest(*o)]
			addVM(o, *np)
			np.Spec.Platform.Kubevirt.AdditionalNetworks = []hyperv1.KubevirtNetwork{further}
			define(o, "further")
			o.HostedCluster.Annotations[settings.Prefix+"network"] = further.Name
		})
		step("recreate the oldest NodePool", func(o *hcp.Objects) {
			o.NodePools[oldest(*o)].CreationTimestamp = metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
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
		if objects.Older(&np, &o.NodePools[i]) {
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
	m := lenient.VirtualMachineInstance{}
	m.Name, m.Namespace = "remaining", hcp.ControlPlaneNamespace(o.HostedCluster)
	if attached := np.Spec.Platform.Kubevirt.AttachDefaultNetwork; attached == nil || *attached {
		m.Spec.Networks = append(m.Spec.Networks, lenient.VMNetwork{Name: "default"})
	}
	for _, n := range np.Spec.Platform.Kubevirt.AdditionalNetworks {
		m.Spec.Networks = append(m.Spec.Networks, lenient.VMNetwork{Name: n.Name, Multus: &lenient.VMMultus{NetworkName: n.Name}})
	}
	o.VMs = append(o.VMs, m)
}

// define adds a NetworkAttachmentDefinition with its own bridge.
func define(o *hcp.Objects, name string) {
	nad := nadv1.NetworkAttachmentDefinition{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: name}}
	nad.Spec.Config = `{"cniVersion":"0.3.1","type":"bridge","bridge":"` + name + `"}`
	o.NetworkAttachmentDefinitions = append(o.NetworkAttachmentDefinitions, nad)
}

// TestLaws checks random worlds. The result is a valid plan or problems, the order of objects does not
// matter, a plan without Error has what nodes need, and unrelated changes move no address in use.
func TestLaws(t *testing.T) {
	stories := worlds.OfStories(t)
	plans, failed := 0, 0
	for seed := range worlds.Count(t, 150) {
		out, n := laws(stories, seed)
		plans += n
		if len(out) > 0 {
			t.Error(strings.Join(out, "\n"))
			failed++
		}
		if failed == 20 {
			t.Fatal("and perhaps more")
		}
	}
	if plans < 20 {
		t.Fatalf("only %d of the worlds have a plan", plans)
	}
}

func FuzzLaws(f *testing.F) {
	stories := worlds.OfStories(f)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		if out, _ := laws(stories, seed); len(out) > 0 {
			t.Fatal(strings.Join(out, "\n"))
		}
	})
}
