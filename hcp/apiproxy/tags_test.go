package apiproxy

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

// TestTags: the ETag of discovery does not depend on the rules that renamed the answer, so the proxy removes it.
func TestTags(t *testing.T) {
	g := NewWithT(t)
	url := between(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"1"`)
		jsonAnswer(w, `{"kind":"APIGroup","apiVersion":"v1","name":"internal.virt.example"}`)
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/apis/kubevirt.io", nil)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("If-None-Match", `"1"`)
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.Body.Close()).To(Succeed())
	g.Expect(answer.StatusCode).To(Equal(http.StatusOK))
	g.Expect(answer.Header.Get("ETag")).To(BeEmpty())
}
