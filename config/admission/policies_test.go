package admission_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/cldmnky/oooi/config/admission"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/settings"
)

// TestPoliciesFailClosed: what a policy that limits oooi cannot judge is refused, everywhere. A policy for users is in
// the way of nothing that it cannot judge.
func TestPoliciesFailClosed(t *testing.T) {
	g := NewWithT(t)
	all, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveLen(4))
	for i, want := range []struct {
		name   string
		policy admissionregistrationv1.FailurePolicyType
		action admissionregistrationv1.ValidationAction
	}{
		{admission.Operator, admissionregistrationv1.Fail, admissionregistrationv1.Deny},
		{admission.EdgeLeases, admissionregistrationv1.Fail, admissionregistrationv1.Deny},
		{admission.Annotations, admissionregistrationv1.Ignore, admissionregistrationv1.Deny},
		{admission.AnnotationKeys, admissionregistrationv1.Ignore, admissionregistrationv1.Warn},
	} {
		p, b := all[i].Policy, all[i].Binding
		g.Expect(p.Name).To(Equal(want.name))
		g.Expect(*p.Spec.FailurePolicy).To(Equal(want.policy))
		g.Expect(all[i].Limits()).To(Equal(want.policy == admissionregistrationv1.Fail))
		g.Expect(p.Spec.ParamKind).To(BeNil())
		g.Expect(p.Spec.MatchConstraints.ExcludeResourceRules).To(BeEmpty())
		g.Expect(b.Spec).To(Equal(admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: want.name, ValidationActions: []admissionregistrationv1.ValidationAction{want.action},
		}), "no namespace is left out")
	}
}

// TestPoliciesKnowTheNames that the operator gives to its objects: YAML repeats them.
func TestPoliciesKnowTheNames(t *testing.T) {
	g := NewWithT(t)
	for file, names := range map[string][]string{
		"operator.yaml": {
			":" + admission.OperatorAccount + "'", wire.LabelName, wire.LabelPartOf, wire.LabelManagedBy, wire.LabelNetwork, wire.LabelEdge,
			wire.PlanConfigMap, wire.ServiceAccount, wire.NameACD, wire.NameReport[len(wire.Owner):], wire.AnnotationNetworks, wire.AnnotationResourceName, settings.Prefix + "NetworkReady",
		},
		"edge_leases.yaml": {":" + wire.ServiceAccount + "'", wire.LabelPartOf, wire.LabelManagedBy, wire.NameReport[len(wire.Owner):]},
	} {
		text, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		for _, name := range names {
			g.Expect(string(text)).To(ContainSubstring(name), file)
		}
	}
}
