// This file makes clients list objects again after the API server was unavailable.

package wire

import (
	"errors"
	"net/http"
)

// ListAfterFailure makes clients list objects again after a watch could not begin. After some errors, such as a refused
// connection, client-go continues at the version that it saw last (its tools/cache and rest). If etcd was restored to an older
// state, that version is in the future, and the API server sends no event until etcd reaches it.
func ListAfterFailure(next http.RoundTripper) http.RoundTripper { return watches{next} }

type watches struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. It removes the cause from the error of a watch, so that client-go lists again,
// unless the context of the watch has ended.
func (w watches) RoundTrip(request *http.Request) (*http.Response, error) {
	out, err := w.next.RoundTrip(request)
	if err != nil && request.Context().Err() == nil && request.URL.Query().Has("watch") {
		err = errors.New(err.Error())
	}
	return out, err
}
