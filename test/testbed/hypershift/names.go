// This file puts KubeVirt on the cluster under other names, as some platforms have it, and makes clients that know its own names only.
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

// rulesFile is a file of the state directory with the names that KubeVirt has here. A cluster where it has its own has no such file.
const rulesFile = "api-rules.yaml"

// keepRules keeps a file of rules for all programs that use the cluster.
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

// readRules are the rules in a file; nil if there is none.
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

// RESTConfig is the administrator's of the management cluster, for a client that knows KubeVirt's own names.
func (h *HyperShift) RESTConfig() (*rest.Config, error) {
	config, err := h.cluster.RESTConfig()
	if err != nil {
		return nil, err
	}
	return apiproxy.Renamed(config, h.rules)
}

// named is a manifest of YAML documents with the names that KubeVirt has here.
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
