// This file has the flag --api-rules, for API servers that use other names for some kinds. Package hcp/apirewrite decides
// what is renamed.

package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/hcp/apirewrite"
	"github.com/cldmnky/oooi/hcp/manifest"
)

// EnvAPIRules is the environment variable with the default of --api-rules. An OLM Subscription can set only variables.
const EnvAPIRules = "OOOI_API_RULES"

// A RulesFlag is the value of the flag --api-rules, the name of a file.
type RulesFlag struct{ file string }

// Add adds the flag to a command.
func (f *RulesFlag) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "api-rules", os.Getenv(EnvAPIRules),
		"`file` that maps kinds, such as those of KubeVirt, to other names in the API server; see docs/clients.md (default: $"+EnvAPIRules+", then none)")
}

// Read reads the rules from the file. It returns nil if the flag is not set. An error names the file and the line.
func (f *RulesFlag) Read() (*apirewrite.Rules, error) {
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

// Reading returns the function that reads objects from files. It renames kinds that have the API server's names.
func (f *RulesFlag) Reading() (source.Reading, error) {
	rules, err := f.Read()
	if err != nil || rules == nil {
		return manifest.Read, err
	}
	return func(file string, content []byte) ([]manifest.Object, []manifest.Fault) {
		return manifest.ReadRenamed(file, content, rules.Document)
	}, nil
}
