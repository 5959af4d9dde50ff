package docs

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/network/problem"
)

// TestAnnotationsOfClients: what the pages about clients tell to set is planned without an Error, and each value is valid.
func TestAnnotationsOfClients(t *testing.T) {
	for page, commands := range map[string]int{"clients.md": 1, "management-access.md": 5} {
		g := NewWithT(t)
		found := annotateCommand.FindAllString(readPage(t, page), -1)
		g.Expect(found).To(HaveLen(commands), page)
		for _, command := range found {
			values := map[string]string{}
			for _, a := range annotationSet.FindAllStringSubmatch(command, -1) {
				values[a[1]] = a[2]
			}
			d := planned(t, values)
			_, ok := d.Plan()
			g.Expect(ok).To(BeTrue(), "%s: %v", command, d.Problems)
			g.Expect(d.Problems).NotTo(ContainElement(HaveField("Reason", BeElementOf(problem.AnnotationInvalid, problem.AnnotationUnknown))), command)
		}
	}
}
