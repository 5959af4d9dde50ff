package controllers

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/test/golden"
)

// testAnyAnnotationsAreAccepted: whatever a user annotates, it is served or
// refused; and what is served, a real API server takes.
func testAnyAnnotationsAreAccepted(t *testing.T, s *apiServer) {
	g := NewWithT(t)
	stories, made, served := golden.Stories(t), map[string]client.Client{}, 0
	accepted := map[string]bool{} // What was accepted is not asked again: most objects of a story stay as they are.
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 4))
		w := worldOf(t, stories[r.IntN(len(stories))])
		annotate := func(m *metav1.ObjectMeta) {
			for range r.IntN(3) {
				k, v := settings.Keys()[r.IntN(len(settings.Keys()))], settings.Keys()[r.IntN(len(settings.Keys()))]
				if r.IntN(4) > 0 {
					v = k
				}
				metav1.SetMetaDataAnnotation(m, settings.Prefix+k.Name, v.Example)
			}
		}
		annotate(&w.HostedCluster.ObjectMeta)
		for i := range w.NodePools {
			annotate(&w.NodePools[i].ObjectMeta)
		}
		for i := range w.Services {
			annotate(&w.Services[i].ObjectMeta)
		}
		for i := range w.NetworkAttachmentDefinitions {
			annotate(&w.NetworkAttachmentDefinitions[i].ObjectMeta)
		}
		d := decide.About(w, testOptions.Release, testNow)
		g.Expect(d.Err).NotTo(HaveOccurred(), "seed %d", seed)
		if d.Action == decide.Leave {
			g.Expect(mayServe(d.Problems)).To(BeFalse(), "seed %d", seed)
		}
		if d.Action != decide.Serve {
			continue
		}
		served++
		ns := hcp.ControlPlaneNamespace(w.HostedCluster)
		if made[ns] == nil {
			made[ns] = s.writerIn(t, w)
		}
		asks := d.Desired
		w.Edges = edgesOf(checked(t, w, d.Plan)...)
		for _, u := range slices.Concat(asks, decide.About(w, testOptions.Release, testNow).Desired) {
			text, err := json.Marshal(u)
			g.Expect(err).NotTo(HaveOccurred())
			if accepted[string(text)] {
				continue
			}
			accepted[string(text)] = true
			options := []client.ApplyOption{client.FieldOwner(wire.Owner)}
			if u.GetKind() != "Role" { // RBAC looks it up when the RoleBinding is written
				options = append(options, client.DryRunAll)
			}
			g.Expect(made[ns].Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), options...)).
				To(Succeed(), "seed %d: %s %s", seed, u.GetKind(), u.GetName())
		}
	}
	g.Expect(served).To(BeNumerically(">", 20))
}
