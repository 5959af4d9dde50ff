// This file configures clients in the same process to rename.

package apiproxy

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// Renamed returns a copy of config. Its clients rename requests and answers by rules. If rules is nil, it returns config.
func Renamed(config *rest.Config, rules *apirewrite.Rules) (*rest.Config, error) {
	if rules == nil {
		return config, nil
	}
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("URL of the API server %q: %w", config.Host, err)
	}
	config = rest.CopyConfig(config)
	// By default clients send protobuf, which cannot be renamed.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return &Transport{Rules: rules, Base: base, Upgrade: base, Server: server, Largest: apirewrite.Largest}
	})
	return config, nil
}
