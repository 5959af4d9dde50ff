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

// TestPoliciesFailClosed: what a policy cannot judge is refused, everywhere.
func TestPoliciesFailClosed(t *testing.T) {
	g := NewWithT(t)
	all, err := admission.Policies()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(HaveLen(2))
	for i, name := range []string{admission.Operator, admission.EdgeLeases} {
		p, b := all[i].Policy, all[i].Binding
		g.Expect(p.Name).To(Equal(name))
		g.Expect(*p.Spec.FailurePolicy).To(Equal(admissionregistrationv1.Fail))
		g.Expect(p.Spec.ParamKind).To(BeNil())
		g.Expect(p.Spec.MatchConstraints.ExcludeResourceRules).To(BeEmpty())
		g.Expect(b.Spec).To(Equal(admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
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
