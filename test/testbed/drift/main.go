// Command drift compares the source of two versions of HyperShift. It prints changes of the fields, names, images, ports and
// policies that oooi depends on. It needs no list of these, because it finds in oooi's source what oooi reads.
//
//	make drift OLD=VERSION NEW=VERSION
//
// The Go types of HyperShift's API are another module, so it compares fields in the CustomResourceDefinitions.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/cldmnky/oooi/test/testbed/host"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "drift:", err)
		os.Exit(1)
	}
}

func run(versions []string, out io.Writer) error {
	if len(versions) != 2 {
		return fmt.Errorf("usage: drift OLD NEW, two versions of github.com/openshift/hypershift, not %q", versions)
	}
	root, err := host.ProjectDir()
	if err != nil {
		return err
	}
	api, err := directory(root, "list", "-m", "-json", "github.com/openshift/hypershift/api")
	if err != nil {
		return err
	}
	r, err := readIn(root, api)
	if err != nil {
		return err
	}
	var trees [2]tree
	for i, version := range versions {
		dir, err := directory(os.TempDir(), "mod", "download", "-json", "github.com/openshift/hypershift@"+version)
		if err != nil {
			return err
		}
		if trees[i], err = readTree(dir); err != nil {
			return err
		}
	}
	return compare(out, r, trees[0], trees[1])
}

// directory runs go with args in the directory in, and returns the directory of the module in its JSON output.
func directory(in string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = in
	out, err := host.Output(cmd)
	if err != nil {
		return "", err
	}
	var m struct{ Dir string }
	err = json.Unmarshal(out, &m)
	return m.Dir, err
}

// compare prints the differences between two versions, in a section for each group.
func compare(out io.Writer, r reads, before, after tree) error {
	fields, err := comparedFields(r.fields, before, after)
	if err != nil {
		return err
	}
	section(out, "fields that oooi reads, and new fields next to them", fields)
	for _, g := range groups(r.names) {
		section(out, g.title, g.compared(before, after))
	}
	return nil
}

func section(out io.Writer, title string, lines []string) {
	fmt.Fprintf(out, "\n== %s: %d lines\n", title, len(lines))
	for _, l := range lines {
		fmt.Fprintln(out, l)
	}
}
