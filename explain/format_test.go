package explain_test

import (
	"os"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/explain"
)

// TestStoredStatus: commands read what an operator of another version stored. A later version reads these bytes as this one does, and
// may add fields: then to the file, too.
func TestStoredStatus(t *testing.T) {
	g := NewWithT(t)
	stored, err := os.ReadFile("testdata/status-1.json")
	g.Expect(err).NotTo(HaveOccurred())
	r, err := explain.ReadReport(stored)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.JSON()).To(MatchJSON(stored))
	for _, part := range []any{r, r.Problems[0].Problem, r.UnavailableEdges[0]} {
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			g.Expect(v.Field(i).IsZero()).To(BeFalse(), "testdata/status-1.json lacks %s", v.Type().Field(i).Name)
		}
	}
}
