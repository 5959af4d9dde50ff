// This file has the flag -o, and writes values as JSON or YAML.

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats of most commands. All except text are for scripts.
const (
	FormatText = "text"
	formatJSON = "json"
	formatYAML = "yaml"
)

// A FormatFlag is the flag -o, which accepts one of several formats.
type FormatFlag struct {
	value string
	of    []string
}

// Add adds the flag to c, with the formats text (the default), JSON and YAML.
func (f *FormatFlag) Add(c *cobra.Command) { f.AddOf(c, FormatText, formatJSON, formatYAML) }

// AddOf adds the flag to c, with the formats in parameter of. The first is the default.
func (f *FormatFlag) AddOf(c *cobra.Command, of ...string) {
	f.value, f.of = of[0], of
	c.Flags().VarP(f, "output", "o", "`format` of the output: "+f.Type())
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp)) // The flag exists.
}

// String returns the format.
func (f *FormatFlag) String() string { return f.value }

// Type implements pflag.Value.
func (f *FormatFlag) Type() string {
	last := len(f.of) - 1
	return strings.Join(f.of[:last], ", ") + " or " + f.of[last]
}

// Set implements pflag.Value.
func (f *FormatFlag) Set(value string) error {
	if !slices.Contains(f.of, value) {
		return errors.New("want " + f.Type())
	}
	f.value = value
	return nil
}

// WriteData writes v as one line of JSON or, if format is YAML, as one YAML document. A character that is not printable
// becomes an escape in JSON, and U+FFFD in YAML.
func WriteData(w io.Writer, format string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text = Escaped(text)
	if format == formatYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		var b strings.Builder
		b.WriteString("---\n")
		for line := range strings.Lines(string(text)) {
			Line(&b, "%s", strings.TrimSuffix(line, "\n"))
		}
		_, err = io.WriteString(w, b.String())
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", text)
	return err
}
