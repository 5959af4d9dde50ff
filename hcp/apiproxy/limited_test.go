package apiproxy

import (
	"fmt"
	"math"
	"mime"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// TestCostOfHeads: a request costs what its head needs when it is parsed, so one client cannot fill the memory with heads.
func TestCostOfHeads(t *testing.T) {
	rules, err := apirewrite.Parse("rules", []byte(rulesText))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	query := func(r *http.Request) { rules.Query(r.URL.RawQuery, apirewrite.Target{API: true, Resource: "pods"}) }
	kind := func(r *http.Request) { _, _, _ = mime.ParseMediaType(r.Header.Get("Content-Type")) }
	var parameters strings.Builder
	for i := range 6_000 {
		fmt.Fprintf(&parameters, ";p%d*0=a", i)
	}
	for name, c := range map[string]struct {
		query, contentType string
		parse              func(*http.Request)
	}{
		"label selector": {"labelSelector=kubevirt.io/a" + strings.Repeat(",a", 31_000), "", query},
		"field selector": {"fieldSelector=a=b" + strings.Repeat(",a=b", 15_000), "", query},
		"content type":   {"", "application/json" + parameters.String(), kind},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?"+c.query, nil)
			r.Header.Set("Content-Type", c.contentType)
			needs := int64(math.MaxInt64)
			for range 3 { // The least counts: others may run.
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				c.parse(r)
				runtime.ReadMemStats(&after)
				needs = min(needs, int64(after.TotalAlloc-before.TotalAlloc))
			}
			t.Logf("a head needs %d bytes, and costs %d", needs, costOf(r))
			NewWithT(t).Expect(needs).To(BeNumerically("<=", costOf(r)))
		})
	}
	usual := httptest.NewRequest(http.MethodGet, "/api/v1/pods?labelSelector=app%3Da&limit=500", nil)
	NewWithT(t).Expect(costOf(usual)).To(BeNumerically("<", requestCost+1<<10), "a usual request")
	usual.Header.Set("Accept", strings.Repeat(",", 31_000))
	NewWithT(t).Expect(costOf(usual)).To(BeNumerically(">", 31_000*256), "a long Accept is parsed, too")
}
