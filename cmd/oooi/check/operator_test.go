package check

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/cmd/oooi/command"
)

// TestOperatorChecks: an available pod that does not lead, or may do nothing, is no operator.
func TestOperatorChecks(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	lease := func(holder string, age time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-age)}}}
	}
	for name, c := range map[string]struct {
		f             operatorFacts
		leads, rights outcome
	}{
		"all of it":         {operatorFacts{leader: lease("x", time.Second)}, fine, fine},
		"no leader":         {operatorFacts{}, failure, fine},
		"it hangs":          {operatorFacts{leader: lease("x", 5*time.Minute)}, failure, fine},
		"it was released":   {operatorFacts{leader: lease("", time.Second)}, failure, fine},
		"clocks differ":     {operatorFacts{leader: lease("x", 40*time.Second)}, fine, fine},
		"a right is gone":   {operatorFacts{leader: lease("x", 0), lacks: []string{"list services"}}, fine, failure},
		"no right to check": {operatorFacts{leaderErr: errors.New("no"), rightsErr: errors.New("no")}, unsure, unsure},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.f.known, c.f.namespace = true, "oooi-system"
			all := operatorChecks(c.f, now)
			g.Expect(all).To(HaveLen(2))
			g.Expect(all[0].Verdict).To(Equal(c.leads), all[0].Why)
			g.Expect(all[1].Verdict).To(Equal(c.rights), all[1].Why)
			for _, x := range all {
				if x.Verdict == failure {
					g.Expect(x.Page).To(Equal(command.ProblemsPage + "#installationincomplete"))
				}
			}
		})
	}
	NewWithT(t).Expect(operatorChecks(operatorFacts{}, now)).To(BeEmpty(), "its Deployment is a failure already")
}
