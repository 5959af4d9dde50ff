// This file parses a machine's user data: the URL of its configuration, the headers for the request, and the trusted certificates.

package machine

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// A UserData is the user data of a new VM. HyperShift writes it: it refers to one Ignition configuration to merge.
type UserData struct {
	// Source is the https URL of the configuration.
	Source *url.URL
	// Headers are those of the request, in their order. The header Authorization contains the token, which is secret.
	Headers []Header
	// CA contains the authorities that must have signed the server's certificate, in PEM.
	CA []byte
}

// A Header is one header of an HTTP request.
type Header struct{ Name, Value string }

// ParseUserData parses user data, an Ignition configuration of version 3.
func ParseUserData(text []byte) (UserData, error) {
	var config struct {
		Ignition struct {
			Version string
			Config  struct {
				Merge []struct {
					Source      string
					HTTPHeaders []Header `json:"httpHeaders"`
				}
			}
			Security struct {
				TLS struct {
					CertificateAuthorities []struct{ Source string } `json:"certificateAuthorities"`
				}
			}
		}
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return UserData{}, fmt.Errorf("user-data: %w", err)
	}
	if !strings.HasPrefix(config.Ignition.Version, "3.") {
		return UserData{}, fmt.Errorf("user-data: Ignition version %q, not 3", config.Ignition.Version)
	}
	if n := len(config.Ignition.Config.Merge); n != 1 {
		return UserData{}, fmt.Errorf("user-data: %d configurations to merge, not one", n)
	}
	merge := config.Ignition.Config.Merge[0]
	source, err := url.Parse(merge.Source)
	if err != nil {
		return UserData{}, fmt.Errorf("user-data: source: %w", err)
	}
	if source.Scheme != "https" || source.Hostname() == "" {
		return UserData{}, fmt.Errorf("user-data: source %q is no https URL", merge.Source)
	}
	data := UserData{Source: source, Headers: merge.HTTPHeaders}
	for _, ca := range config.Ignition.Security.TLS.CertificateAuthorities {
		pem, err := readDataURL(ca.Source)
		if err != nil {
			return UserData{}, fmt.Errorf("user-data: certificate authority: %w", err)
		}
		data.CA = append(data.CA, pem...)
	}
	if len(data.CA) == 0 {
		return UserData{}, errors.New("user-data: no certificate authority")
	}
	return data, nil
}

// readDataURL returns the content of a "data:" URL (RFC 2397).
func readDataURL(text string) ([]byte, error) {
	head, body, found := strings.Cut(strings.TrimPrefix(text, "data:"), ",")
	if !found || !strings.HasPrefix(text, "data:") {
		return nil, errors.New("no data URL")
	}
	if strings.HasSuffix(head, ";base64") {
		return base64.StdEncoding.DecodeString(body)
	}
	plain, err := url.PathUnescape(body)
	return []byte(plain), err
}

// Without returns u without the header with this name.
func (u UserData) Without(name string) UserData {
	kept := make([]Header, 0, len(u.Headers))
	for _, h := range u.Headers {
		if !strings.EqualFold(h.Name, name) {
			kept = append(kept, h)
		}
	}
	u.Headers = kept
	return u
}
