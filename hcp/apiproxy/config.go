// This file applies the rules to a client in the same process.

package apiproxy

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// Renamed returns a copy of config that renames, for an API server with other names. Nil rules: config itself.
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
