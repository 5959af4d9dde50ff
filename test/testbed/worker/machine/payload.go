// This file reads the files of a machine's Ignition configuration.

package machine

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The paths of files that every node of HyperShift gets.
const (
	// BootstrapKubeconfig has only the right to request a certificate.
	BootstrapKubeconfig = "/etc/kubernetes/kubeconfig"
	// ClientCA signs the certificates of the kubelet's clients, in PEM.
	ClientCA = "/etc/kubernetes/kubelet-ca.crt"

	kubeletConf  = "/etc/kubernetes/kubelet.conf"
	haproxyConf  = "/etc/kubernetes/apiserver-proxy-config/haproxy.cfg"
	haproxySetup = "/usr/local/bin/setup-apiserver-ip.sh"
)

// A Payload is the content of the files in an Ignition configuration, by path.
type Payload map[string][]byte

// ParsePayload parses an Ignition configuration of version 3. It returns an error if a file is missing that every node gets.
func ParsePayload(text []byte) (Payload, error) {
	var config struct {
		Ignition struct{ Version string }
		Storage  struct {
			Files []struct {
				Path     string
				Contents struct{ Source, Compression string }
			}
		}
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("payload: %w", err)
	}
	if !strings.HasPrefix(config.Ignition.Version, "3.") {
		return nil, fmt.Errorf("payload: Ignition version %q, not 3", config.Ignition.Version)
	}
	p := Payload{}
	for _, f := range config.Storage.Files {
		if f.Contents.Source == "" { // an empty file
			p[f.Path] = nil
			continue
		}
		content, err := readDataURL(f.Contents.Source)
		if err == nil && f.Contents.Compression == "gzip" {
			content, err = gunzip(content)
		}
		if err != nil {
			return nil, fmt.Errorf("payload: %s: %w", f.Path, err)
		}
		p[f.Path] = content
	}
	for _, path := range []string{BootstrapKubeconfig, ClientCA, kubeletConf, haproxyConf, haproxySetup} {
		if len(p[path]) == 0 {
			return nil, fmt.Errorf("payload: no file %s among %d", path, len(p))
		}
	}
	return p, nil
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
