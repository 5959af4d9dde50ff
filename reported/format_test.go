package reported_test

import (
	"os"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/reported"
)

// TestStoredReport: during an upgrade the operator reads what edges of the release before wrote, and the other way round. A later
// version reads these bytes as this one does, and may add fields: then to the file, too.
func TestStoredReport(t *testing.T) {
	g := NewWithT(t)
	stored, err := os.ReadFile("testdata/report-1.json")
	g.Expect(err).NotTo(HaveOccurred())
	r, err := reported.Read(stored)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.JSON()).To(MatchJSON(stored))
	for _, part := range []any{r, r.DHCP} {
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			g.Expect(v.Field(i).IsZero()).To(BeFalse(), "testdata/report-1.json lacks %s", v.Type().Field(i).Name)
		}
	}
}
