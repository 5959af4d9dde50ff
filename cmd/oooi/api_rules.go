// This file lets the operator and commands read and write a cluster whose API server has other names for some kinds. What is
// renamed is decided in hcp/apirewrite.

package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubevirtv1 "kubevirt.io/api/core/v1"

	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/hcp/apirewrite"
	"github.com/cldmnky/oooi/hcp/manifest"
)

// envAPIRules sets flag --api-rules: an OLM Subscription can set no flags.
const envAPIRules = "OOOI_API_RULES"

// A rulesFlag is the flag --api-rules, and what it leads to.
type rulesFlag struct{ file string }

func (f *rulesFlag) add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "api-rules", os.Getenv(envAPIRules),
		"`file` with other names of kinds in the API server, such as those of KubeVirt; see docs/api-rewriting.md (default: $"+envAPIRules+", then none)")
}

// read returns the rules. Nil: there are none. An error has the file and the line.
func (f *rulesFlag) read() (*apirewrite.Rules, error) {
	if f.file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, fmt.Errorf("--api-rules: %w", err)
	}
	rules, err := apirewrite.Parse(f.file, text)
	if err != nil {
		return nil, fmt.Errorf("--api-rules: %w", err)
	}
	return rules, nil
}

// reading returns how to read files of objects, which may have the API server's names.
func (f *rulesFlag) reading() (source.Reading, error) {
	rules, err := f.read()
	if err != nil || rules == nil {
		return manifest.Read, err
	}
	return func(file string, content []byte) ([]manifest.Object, []manifest.Fault) {
		return manifest.ReadRenamed(file, content, rules.Document)
	}, nil
}

// vmResource is the API server's name of VirtualMachineInstances, for edges. Empty: it is KubeVirt's own.
func vmResource(rules *apirewrite.Rules) string {
	if rules == nil {
		return ""
	}
	own := schema.GroupResource{Group: kubevirtv1.SchemeGroupVersion.Group, Resource: "virtualmachineinstances"}
	group, plural := rules.Resource(own.Group, own.Resource)
	if server := (schema.GroupResource{Group: group, Resource: plural}); server != own {
		return server.String()
	}
	return ""
}
