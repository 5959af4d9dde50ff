// This file is the server that an API server calls in place of a webhook.

package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// LargestReview is the limit of an AdmissionReview in bytes, as in most webhooks. It has two objects.
const LargestReview = 7 << 20

// A Webhook forwards AdmissionReviews of version v1 to a webhook that knows the client's names only.
type Webhook struct {
	Rules *apirewrite.Rules
	// Target is the URL of the webhook, without a path.
	Target *url.URL
	// Transport reaches it, and verifies its certificate.
	Transport http.RoundTripper
	// Largest is the limit of a body in bytes, if it is less than LargestReview.
	Largest int
	Log     *slog.Logger
}

// ServeHTTP is that of http.Handler.
func (h Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit := int64(min(h.Largest, LargestReview))
	review, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		http.Error(w, "reading the AdmissionReview: "+err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	var head struct{ Kind, APIVersion string }
	if err := json.Unmarshal(review, &head); err != nil || head.Kind != "AdmissionReview" || head.APIVersion != "admission.k8s.io/v1" {
		http.Error(w, "want an AdmissionReview of admission.k8s.io/v1 as JSON: set admissionReviewVersions to [v1]", http.StatusBadRequest)
		return
	}
	body, err := h.Rules.Body("application/json", review, apirewrite.Target{}, apirewrite.ToClient)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	target := *h.Target
	target.Path, target.RawQuery = h.Rules.Webhook(r.URL.Path), r.URL.RawQuery
	out, err := http.NewRequestWithContext(r.Context(), http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	out.Header.Set("Content-Type", "application/json")
	answer, err := h.Transport.RoundTrip(out)
	if err != nil {
		h.Log.Warn("webhook unreachable", "err", err)
		http.Error(w, "the webhook cannot be reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil || int64(len(text)) > limit {
		http.Error(w, "the webhook's answer broke off or is too large", http.StatusBadGateway)
		return
	}
	contentType, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if answer.StatusCode == http.StatusOK && contentType != "text/html" {
		if text, err = h.Rules.Body("application/json", text, apirewrite.Target{}, apirewrite.ToServer); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text) // The API server is gone if it fails.
}
