// This file makes clients of the API server list again after it was away.

package wire

import (
	"errors"
	"net/http"
	"syscall"
)

// ListAfterRefusal returns a RoundTripper under which watches list again after the API server refused a connection. Otherwise
// client-go continues a watch at the resource version that it saw last (isWatchErrorRetriable in its tools/cache). If etcd was
// restored to an older state meanwhile, that version is in the future, and the API server sends no event until etcd reaches it.
func ListAfterRefusal(next http.RoundTripper) http.RoundTripper { return refusals{next} }

type refusals struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. A refused connection becomes an error without a cause.
func (r refusals) RoundTrip(request *http.Request) (*http.Response, error) {
	out, err := r.next.RoundTrip(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		err = errors.New(err.Error())
	}
	return out, err
}
