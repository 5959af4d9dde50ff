// This file reads the objects for `oooi plan` and `oooi lint`, and reports what could not be read.

package plan

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/network"
)

// inputFlags are the flags of both commands.
type inputFlags struct {
	files  []string
	strict bool
	rules  command.RulesFlag
	permit command.PermissionFlags
	output command.FormatFlag
}

func addInputFlags(c *cobra.Command) *inputFlags {
	f := &inputFlags{permit: command.AddPermissionFlags(c)}
	c.Flags().StringArrayVarP(&f.files, "filename", "f", nil, "`file` or directory to read, or - for standard input; can be repeated")
	c.Flags().BoolVar(&f.strict, "strict", false, "stop if anything in the input cannot be read, or is ambiguous")
	f.rules.Add(c)
	f.output.Add(c)
	return f
}

const inputHelp = `Files are YAML or JSON, with any number of objects, and lists of them. In a
directory, all files *.yaml, *.yml, *.json, *.jsonl and *.ndjson are read. A
broken file, such as a Helm template, is reported on standard error and skipped;
--strict stops. If an object occurs twice, the newer version by
metadata.resourceVersion counts, else the last one. If only one has a
resourceVersion, the other is a file to apply. Its spec, annotations and labels
count, with the status from the cluster. All files must be of one management
cluster: run the command once for each cluster. If two files to apply have different
content for one object, that is a finding.`

type input struct {
	// objects are the objects on which plans depend. If several files have an object, it is here once.
	objects []manifest.Object
	dump    *files.Dump
	// files is the number of files that were read.
	files int
	// faults name parts of files that were not read, or that were read differently. Resolved ones come last.
	faults []manifest.Fault
	// permitted are the permissions of the management cluster's administrator.
	permitted network.Permissions
}

// maxFaults is the largest number of faults that are written to standard error.
const maxFaults = 30

// read reads the files of the flags and in args. It writes to standard error what was not read.
func (f inputFlags) read(c *cobra.Command, args []string) (input, error) {
	permitted, err := f.permit.Parse()
	if err != nil {
		return input{}, err
	}
	read, err := f.rules.Reading()
	if err != nil {
		return input{}, err
	}
	in, err := readInput(c.InOrStdin(), append(f.files, args...), read)
	if err != nil {
		return in, err
	}
	in.permitted = permitted
	if f.strict && len(in.faults) > 0 && !in.faults[0].Resolved {
		return in, in.faults[0]
	}
	said := slices.DeleteFunc(slices.Clone(in.faults), func(f manifest.Fault) bool { return f.Unused }) // Unused versions are findings.
	for i, fault := range said {
		if i == maxFaults {
			fmt.Fprintf(c.ErrOrStderr(), "oooi: and %d more\n", len(said)-i)
			break
		}
		command.Complain(c.ErrOrStderr(), fault.Error())
	}
	return in, nil
}

// readInput reads objects from paths. It returns an error if a file that the user named cannot be read completely.
func readInput(stdin io.Reader, paths []string, read source.Reading) (input, error) {
	all, err := source.ReadFiles(stdin, paths, read)
	if err != nil {
		return input{}, err
	}
	objects, versions := manifest.Merge(slices.DeleteFunc(all.Objects, func(o manifest.Object) bool { return !files.Matters(o) }))
	in := input{dump: &files.Dump{}, files: all.Count, objects: objects, faults: append(all.Faults, versions...)}
	for _, o := range in.objects {
		if err := in.dump.AddObject(o); err != nil {
			in.faults = append(in.faults, manifest.Fault{File: o.File, Err: err, Unread: true})
		}
	}
	slices.SortStableFunc(in.faults, func(a, b manifest.Fault) int { return last(a) - last(b) })
	for _, f := range in.faults {
		if f.Unread && all.Named(f) {
			return in, f
		}
	}
	return in, nil
}

// last is a sort key: it returns 1 for a resolved fault, else 0.
func last(f manifest.Fault) int {
	if f.Resolved {
		return 1
	}
	return 0
}
