// This file gives KubeVirt's kinds other names on the cluster, as some platforms do. It also returns clients that use KubeVirt's own names.
package hypershift

import (
	"bytes"
	"errors"
	"io/fs"
	"os"

	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/hcp/apiproxy"
	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// rulesFile is a file in the state directory with the other names for KubeVirt's kinds. It does not exist if they have their own names.
const rulesFile = "api-rules.yaml"

// keepRules copies a file with rules to the state directory, for all programs that use the cluster.
func (h *HyperShift) keepRules(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = write(h.path(rulesFile), text)
	}
	if err == nil {
		h.rules, err = readRules(h.path(rulesFile))
	}
	return err
}

// readRules returns the rules in a file, or nil if the file does not exist.
func readRules(file string) (*apirewrite.Rules, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return apirewrite.Parse(file, text)
}

// RESTConfig returns the administrator's configuration for the management cluster, for clients that use KubeVirt's own names.
func (h *HyperShift) RESTConfig() (*rest.Config, error) {
	config, err := h.cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	return apiproxy.Renamed(config, h.rules)
}

// named returns manifest, YAML documents, with the names of KubeVirt's kinds on this cluster.
func (h *HyperShift) named(manifest []byte) ([]byte, error) {
	if h.rules == nil {
		return manifest, nil
	}
	docs := bytes.Split(manifest, []byte("\n---\n"))
	for i := range docs {
		var err error
		if docs[i], err = h.rules.Body(apirewrite.YAML, docs[i], apirewrite.Target{API: true}, apirewrite.ToServer); err != nil {
			return nil, err
		}
	}
	return bytes.Join(docs, []byte("\n---\n")), nil
}
