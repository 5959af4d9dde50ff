// This file is the HTTP handler that an API server calls in place of a webhook.

package apiproxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// LargestReview limits an AdmissionReview, in bytes. Most webhooks have this limit. A review contains up to two objects.
const LargestReview = 7 << 20

// A Webhook forwards AdmissionReviews of version v1 to a webhook that knows only the client's names.
type Webhook struct {
	Rules *apirewrite.Rules
	// Target is the URL of the webhook, without a path.
	Target *url.URL
	// Transport sends requests to the webhook, and verifies its certificate.
	Transport http.RoundTripper
	// Largest limits a body, in bytes. LargestReview is used if it is smaller.
	Largest int
	// Bodies limits what the bodies of all requests need. Nil: there is no limit.
	Bodies *Bodies
	Log    *slog.Logger
}

// ServeHTTP implements http.Handler.
func (h Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	limit := int64(min(h.Largest, LargestReview))
	l := h.Bodies.lease(r)
	defer l.release()
	body, code, err := h.review(w, r, l, limit)
	if err != nil {
		if code == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", retryAfter)
		}
		http.Error(w, err.Error(), code)
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
	if answer.StatusCode == http.StatusOK {
		if text, err = h.Rules.Body("application/json", text, apirewrite.Target{}, apirewrite.ToServer); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text) // An error means that the API server has gone.
}

// review reads an AdmissionReview from r, and returns it with the client's names. code is the status code for an error.
func (h Webhook) review(w http.ResponseWriter, r *http.Request, l *lease, limit int64) (body []byte, code int, err error) {
	done := l.deadline(http.NewResponseController(w))
	review, err := io.ReadAll(l.reader(http.MaxBytesReader(w, r.Body, limit)))
	if err != nil {
		code, _ := unreadCode(err)
		if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
			code = http.StatusRequestEntityTooLarge
		}
		return nil, code, fmt.Errorf("reading the AdmissionReview: %w", err)
	}
	done()
	parsed, err := l.parsing(len(review))
	if err != nil {
		return nil, http.StatusServiceUnavailable, fmt.Errorf("reading the AdmissionReview: %w", err)
	}
	defer parsed()
	var head struct{ Kind, APIVersion string }
	if err := json.Unmarshal(review, &head); err != nil || head.Kind != "AdmissionReview" || head.APIVersion != "admission.k8s.io/v1" {
		return nil, http.StatusBadRequest, errors.New("want an AdmissionReview of admission.k8s.io/v1 as JSON: set admissionReviewVersions to [v1]")
	}
	body, err = h.Rules.Body("application/json", review, apirewrite.Target{}, apirewrite.ToClient)
	return body, http.StatusBadRequest, err
}
