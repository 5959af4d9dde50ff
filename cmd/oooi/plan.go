// This file holds `oooi plan`: what one annotation would do, from files alone.
// It never talks to a cluster.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// Exit codes of `oooi plan`; scripts rely on them.
const (
	exitUnreadable = 1
	exitNotServed  = 2
)

// A planned is one line of `oooi plan -o json`: a promise to scripts.
type planned struct {
	Cluster string          `json:"cluster"`
	Request network.Request `json:"request"`
	Facts   network.Facts   `json:"facts"`
	// Plan is null where a problem blocks, and holds what is known where
	// something is waited for.
	Plan     *network.Plan    `json:"plan"`
	Problems network.Problems `json:"-"`
	// Explained is Problems as scripts read them.
	Explained []explain.JSONProblem `json:"problems"`
	// preview is the same for people.
	preview explain.Preview
}

func newPlanCommand() *cobra.Command {
	var files, set []string
	var output string
	var permit permissionFlags
	c := &cobra.Command{
		Use:   "plan -f FILE|DIR...",
		Short: "Show what VMs get and reach, from YAML files alone",
		Long: `Reads Kubernetes objects from files and prints a plan for each hosted cluster that opted in.
The files can be the output of a HyperShift command line with --render, a must-gather,
or the output of kubectl get -o yaml. No cluster is contacted.

The text says first whether nodes will become Ready. For each network it then lists what
a VM gets, what a VM reaches, which addresses to reserve, and what runs.

Exit codes:
  0  everything would be served
  1  the input cannot be read
  2  a hosted cluster has an error or waits for something, or none opted in`,
		Example: `  hypershift create cluster kubevirt ... --render | oooi plan -f -
  oooi plan -f must-gather/ -o json
  oooi plan -f cluster.yaml --set network=auto`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return exit(exitUnreadable, fmt.Errorf("-o %s: want text or json", output))
			}
			permitted, err := permit.parse()
			if err != nil {
				return exit(exitUnreadable, err)
			}
			return plan(c, append(files, args...), set, permitted, output)
		},
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "`file` or directory to read, or - for standard input; can be repeated")
	c.Flags().StringVarP(&output, "output", "o", "text", "output `format`: text, or json (one object a line)")
	c.Flags().StringArrayVar(&set, "set", nil, "annotation `KEY=VALUE` to set before planning, without prefix; network is set only where it is missing; can be repeated")
	permit = addPermissionFlags(c)
	return c
}

func plan(c *cobra.Command, files, set []string, permitted network.Permissions, output string) error {
	dump, err := readDump(c.InOrStdin(), files)
	if err != nil {
		return exit(exitUnreadable, err)
	}
	all := dump.Clusters()
	for i := range all {
		all[i].Permissions = permitted
	}
	for _, s := range set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return exit(exitUnreadable, fmt.Errorf("--set %s: want KEY=VALUE", s))
		}
		annotate(all, strings.TrimPrefix(key, settings.Prefix), value)
	}
	clusters := slices.DeleteFunc(slices.Clone(all), func(o hcp.Objects) bool { return !hcp.OptedIn(o.HostedCluster) })
	if len(clusters) == 0 {
		return exit(exitNotServed, noneOptedIn(len(all)))
	}
	served := true
	for i, o := range clusters {
		p := planFor(o, all)
		served = served && !p.Problems.Blocking() && !p.Problems.Waiting()
		if output == "json" {
			line, err := json.Marshal(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n", line)
			continue
		}
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		explain.WritePlan(c.OutOrStdout(), p.preview)
	}
	if !served {
		return exit(exitNotServed, nil)
	}
	return nil
}

// planFor plans o next to all other clusters. They share a network as far as their
// addresses do not conflict.
func planFor(o hcp.Objects, all []hcp.Objects) planned {
	var others []network.OtherCluster
	for _, other := range all {
		if other.HostedCluster == o.HostedCluster {
			continue
		}
		if n, ok := hcp.OtherCluster(o, other, network.Plan{}); ok {
			others = append(others, n)
		}
	}
	request, facts := hcp.Translate(o)
	derived := network.Derive(request, facts, network.Plan{}, others)
	p := planned{Cluster: request.Cluster.String(), Request: request, Facts: facts, Problems: derived.Problems, Explained: explain.JSON(derived.Problems)}
	p.Facts.Problems = nil // they are among all problems
	if decided, ok := derived.Plan(); ok {
		p.Plan = &decided
	}
	p.preview = preview(o, p)
	return p
}

// preview is what people are told about o and its plan.
func preview(o hcp.Objects, p planned) explain.Preview {
	nodes, _ := hcp.EdgeNodeSelector(o)
	v := explain.Preview{
		Cluster: p.Cluster, Plan: p.Plan, Problems: p.Problems, Remarks: remarks(o), EdgeNodes: nodes,
		Created:   !reflect.ValueOf(o.HostedCluster.Status).IsZero(),
		PoolSizes: hcp.NodePoolSizes(o), MaxVMs: map[string]int{}, Sources: map[string]map[string]string{},
	}
	for _, s := range p.Request.Networks {
		v.MaxVMs[s.Attachment.NetworkName()] = s.VMs
		v.Sources[s.Attachment.NetworkName()] = hcp.SettingSources(o, s)
	}
	return v
}

// vmPatch is HyperShift's annotation with which a user patches the VMs of a NodePool.
const vmPatch = "hypershift.openshift.io/kubevirt-vm-jsonpatch"

// remarks are what else people should know of o, and no problem is.
func remarks(o hcp.Objects) []string {
	var out []string
	if hcp.Paused(o.HostedCluster, time.Now()) {
		out = append(out, "PAUSED by spec.pausedUntil or the annotation paused. Nothing is applied until the pause ends; running edges do not change.")
	}
	patched := o.HostedCluster.Annotations[vmPatch] != ""
	for _, np := range o.NodePools {
		patched = patched || np.Annotations[vmPatch] != ""
	}
	if patched {
		out = append(out, "The annotation "+vmPatch+" patches the VMs. This plan does not include its effect on their networks.")
	}
	return out
}

func noneOptedIn(clusters int) error {
	if clusters == 0 {
		return errors.New("there is no HostedCluster in the input")
	}
	return fmt.Errorf("none of the %d HostedClusters in the input has the annotation %snetwork; add it for the sake of the plan with --set network=auto", clusters, settings.Prefix)
}

// annotate sets a key on every cluster; the key that opts in only where a cluster
// has not, since one that has said which network it wants.
func annotate(all []hcp.Objects, key, value string) {
	for _, o := range all {
		hc := o.HostedCluster
		if key == "network" && hcp.OptedIn(hc) {
			continue
		}
		if hc.Annotations == nil {
			hc.Annotations = map[string]string{}
		}
		hc.Annotations[settings.Prefix+key] = value
	}
}

// readDump reads files, and every YAML or JSON file below directories.
func readDump(stdin io.Reader, files []string) (*hcp.Dump, error) {
	dump := &hcp.Dump{}
	return dump, eachFile(stdin, files, func(_ string, data []byte) error { return dump.Add(data) })
}

// eachFile calls do with the content of files, and of every YAML or JSON file
// below directories. An error of do is said with the file's name.
func eachFile(stdin io.Reader, files []string, do func(name string, data []byte) error) error {
	if len(files) == 0 {
		return errors.New("name a file or a directory with -f (- is standard input)")
	}
	read := func(name string, data []byte, err error) error {
		if err == nil {
			err = do(name, data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for _, f := range files {
		if f == "-" {
			data, err := io.ReadAll(stdin)
			if err := read("standard input", data, err); err != nil {
				return err
			}
			continue
		}
		err := filepath.WalkDir(f, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path != f && !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
				return err
			}
			data, err := os.ReadFile(path)
			return read(path, data, err)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// An exitError ends the program with a code of its own. Without err nothing
// more is said.
type exitError struct {
	code int
	err  error
}

func exit(code int, err error) error { return exitError{code, err} }

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
