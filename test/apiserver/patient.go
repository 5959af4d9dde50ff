// This file lets the requests of a test outlast the limits that the product sets them.

package apiserver

import (
	"context"
	"net/http"
)

// patient passes on requests without their deadline. A product gives up after seconds, and may be right where etcd stands still:
// what was still written is then written again.
type patient struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. Watches have no deadline, and end with their context.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, limited := r.Context().Deadline(); limited {
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	return p.next.RoundTrip(r)
}
