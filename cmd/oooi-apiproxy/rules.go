// This file generates rules from an API server's discovery, and validates rules.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// A dump has the fields of an APIResourceList and of aggregated discovery that are needed for rules.
type dump struct {
	GroupVersion string
	Resources    []struct{ Name, Kind string }
	Items        []struct {
		Metadata struct{ Name string }
		Versions []struct {
			Resources []struct {
				Resource     string
				ResponseKind struct{ Kind string }
			}
		}
	}
}

// addTo adds the kind of each resource to map out, by group and plural.
func (d dump) addTo(out map[string]map[string]string) {
	add := func(group, plural, kind string) {
		if out[group] == nil {
			out[group] = map[string]string{}
		}
		plural, _, _ = strings.Cut(plural, "/")
		if out[group][plural] == "" {
			out[group][plural] = kind
		}
	}
	group, _, _ := strings.Cut(d.GroupVersion, "/")
	for _, r := range d.Resources {
		add(group, r.Name, r.Kind)
	}
	for _, g := range d.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				add(g.Metadata.Name, r.Resource, r.ResponseKind.Kind)
			}
		}
	}
}

func newRulesCommand() *cobra.Command {
	var groups []string
	var kindPrefix, file string
	c := &cobra.Command{
		Use:   "rules --group CLIENT=SERVER --kind-prefix PREFIX -f FILE",
		Short: "Generate rules from API discovery",
		Long: "Generates rules from API discovery and prints them. The input is either the\n" +
			"responses of /apis/GROUP/VERSION for all groups, one after the other, or aggregated discovery.\n" +
			"If the server's kinds have no prefix, set --kind-prefix to the empty string.",
		Example: "  kubectl get --raw /apis/internal.virtualization.example/v1 |\n" +
			"    oooi-apiproxy rules --group kubevirt.io=internal.virtualization.example --kind-prefix InternalVirtualization -f -",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			in := c.InOrStdin()
			if file != "-" {
				f, err := os.Open(file)
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			text, err := writeRules(in, groups, kindPrefix)
			if err != nil {
				return err
			}
			_, err = io.WriteString(c.OutOrStdout(), text)
			return err
		},
	}
	c.Flags().StringArrayVar(&groups, "group", nil, "`CLIENT=SERVER`: the two names of a group; can be repeated")
	c.Flags().StringVar(&kindPrefix, "kind-prefix", "", "`prefix` of the server's kinds; in lower case, also of its resources")
	c.Flags().StringVarP(&file, "filename", "f", "", "`file` with responses of /apis/GROUP/VERSION, or with aggregated discovery; - is standard input")
	_ = c.MarkFlagRequired("group")
	_ = c.MarkFlagRequired("filename")
	_ = c.MarkFlagRequired("kind-prefix")
	c.AddCommand(newCheckCommand())
	return c
}

// newCheckCommand returns the command that validates a rules file. It needs no server.
func newCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Validate a rules file", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			_, _, err := readRules(args[0])
			if err == nil {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s: valid\n", args[0])
			}
			return err
		},
	}
}

// readRules returns the rules in a file, and the file's text.
func readRules(file string) (*apirewrite.Rules, []byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("reading rules: %w", err)
	}
	rules, err := apirewrite.Parse(file, text)
	return rules, text, err
}

// writeRules returns a rules file for groups, each CLIENT=SERVER. Parameter in is a reader of the server's discovery.
func writeRules(in io.Reader, groups []string, kindPrefix string) (string, error) {
	found := map[string]map[string]string{}
	decoder := json.NewDecoder(in)
	for {
		var d dump
		err := decoder.Decode(&d)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", fmt.Errorf("reading discovery: %w", err)
		}
		d.addTo(found)
	}
	resourcePrefix := strings.ToLower(kindPrefix)
	var b, keys strings.Builder
	b.WriteString("version: 1\ngroups:\n")
	for _, one := range groups {
		client, server, ok := strings.Cut(one, "=")
		if !ok {
			return "", fmt.Errorf("--group %s: want CLIENT=SERVER", one)
		}
		if len(found[server]) == 0 {
			return "", fmt.Errorf("--group %s: the input has no resources of group %s: want the answer of /apis/%s/VERSION", one, server, server)
		}
		fmt.Fprintf(&b, "- client: %s\n  server: %s\n  kindPrefix: %q\n  resourcePrefix: %q\n  resources:\n", client, server, kindPrefix, resourcePrefix)
		named := 0
		for _, plural := range slices.Sorted(maps.Keys(found[server])) {
			kind, hasKind := strings.CutPrefix(found[server][plural], kindPrefix)
			name, hasName := strings.CutPrefix(plural, resourcePrefix)
			if hasKind && hasName && name != "" && kind != "" {
				fmt.Fprintf(&b, "    %s: %s\n", name, kind)
				named++
			}
		}
		if named == 0 {
			return "", fmt.Errorf("--group %s: no kind in %s starts with %s", one, server, kindPrefix)
		}
		fmt.Fprintf(&keys, "- {client: %s/, server: %s/}\n", client, server)
	}
	text := b.String() + "keys:\n" + keys.String()
	_, err := apirewrite.Parse("rules", []byte(text))
	return text, err
}
