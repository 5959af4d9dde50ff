// This file holds `oooi lint`: which annotations in files would be refused or
// ignored. It never talks to a cluster, and says nothing of what is only waited
// for.

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/explain"
)

// exitFindings is `oooi lint`'s where it has found something.
const exitFindings = 2

// A finding is one annotation that would not do what it says, and one line of
// `oooi lint -o json`: a promise to scripts.
type finding struct {
	File string `json:"file"`
	// Object is "Kind namespace/name".
	Object string         `json:"object"`
	Key    string         `json:"key"`
	Reason network.Reason `json:"reason"`
	Detail string         `json:"detail"`
}

// String is "file: Kind namespace/name: key: words".
func (f finding) String() string {
	return fmt.Sprintf("%s: %s: %s: %s", f.File, f.Object, f.Key, f.Detail)
}

func newLintCommand() *cobra.Command {
	var files []string
	var output string
	c := &cobra.Command{
		Use:   "lint -f FILE|DIR...",
		Short: "Check annotations in YAML files",
		Long: `Checks the annotations ` + settings.Prefix + `* of HostedClusters, NodePools,
NetworkAttachmentDefinitions and Services. Each object is checked alone. Hosted clusters
that opted in are also checked as a whole, such as for addresses that overlap.
Each finding is one line: an annotation that would be refused or ignored.

Exit codes:
  0  no findings
  1  the input cannot be read, or has none of these objects
  2  findings`,
		Example: `  oooi lint -f clusters/
  hypershift create cluster kubevirt ... --render | oooi lint -f -
  oooi lint -f clusters/ -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if output != "text" && output != "json" {
				return exit(exitUnreadable, fmt.Errorf("-o %s: want text or json", output))
			}
			found, err := lint(c.InOrStdin(), append(files, args...))
			if err != nil {
				return exit(exitUnreadable, err)
			}
			for _, f := range found {
				line := f.String()
				if output == "json" {
					b, err := json.Marshal(f)
					if err != nil {
						return err
					}
					line = string(b)
				}
				fmt.Fprintln(c.OutOrStdout(), line)
			}
			if len(found) > 0 {
				return exit(exitFindings, nil)
			}
			return nil
		},
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "`file` or directory to read, or - for standard input; can be repeated")
	c.Flags().StringVarP(&output, "output", "o", "text", "output `format`: text, or json (one object a line)")
	return c
}

// An annotated object is what lint looks at of one object.
type annotated struct {
	file       string
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace   string            `json:"namespace"`
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		ClusterName string `json:"clusterName"`
	} `json:"spec"`
}

func (a annotated) String() string {
	return a.Kind + " " + a.Metadata.Namespace + "/" + a.Metadata.Name
}

// finds is p as a finding about a.
func (a annotated) finds(p network.Problem) finding {
	return finding{File: a.file, Object: a.String(), Key: keyOf(p), Reason: p.Reason, Detail: explain.Problem(p).String()}
}

func lint(stdin io.Reader, files []string) ([]finding, error) {
	dump, all := &hcp.Dump{}, []annotated(nil)
	err := eachFile(stdin, files, func(name string, data []byte) error {
		objects, err := annotatedIn(name, data)
		if err != nil {
			return err
		}
		all = append(all, objects...)
		return dump.Add(data)
	})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is no HostedCluster, NodePool, NetworkAttachmentDefinition or Service in the input")
	}
	var found []finding
	said := map[string]bool{}
	for _, a := range all {
		for _, p := range settings.Check(a.Kind, a.Metadata.Name, a.Metadata.Annotations) {
			found, said[explain.Problem(p).String()] = append(found, a.finds(p)), true
		}
	}
	clusters := dump.Clusters()
	for _, o := range clusters {
		if !hcp.OptedIn(o.HostedCluster) {
			continue
		}
		for _, p := range planFor(o, clusters).Problems {
			if !said[explain.Problem(p).String()] && keyOf(p) != "" {
				found = append(found, toChange(p, o, all).finds(p))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Object, b.Object), strings.Compare(a.Key, b.Key))
	})
	return found, nil
}

// toChange is the object to change for p: the one that p names, else the cluster
// where it has the annotation, else its first NodePool that has it, else the
// cluster.
func toChange(p network.Problem, o hcp.Objects, all []annotated) annotated {
	key, hc := keyOf(p), o.HostedCluster
	var cluster, pool annotated
	for _, a := range all {
		m := a.Metadata
		_, says := m.Annotations[key]
		if a.is(p.Subject, hc.Namespace) || says && a.carries(p.Subject) {
			return a
		}
		switch {
		case m.Namespace != hc.Namespace:
		case a.Kind == string(settings.OnHostedCluster) && m.Name == hc.Name:
			cluster = a
		case a.Kind == string(settings.OnNodePool) && a.Spec.ClusterName == hc.Name && says && pool.Kind == "":
			pool = a
		}
	}
	if _, says := cluster.Metadata.Annotations[key]; !says && pool.Kind != "" {
		return pool
	}
	return cluster
}

// is says whether a is s. What s does not say of its namespace is ns.
func (a annotated) is(s network.Subject, ns string) bool {
	return a.Kind == s.Kind && a.Metadata.Name == s.Name && (a.Metadata.Namespace == cmp.Or(s.Namespace, ns) || a.Kind == string(settings.OnService))
}

// carries says whether a is the NetworkAttachmentDefinition of the network s.
func (a annotated) carries(s network.Subject) bool {
	return s.Kind == "Network" && a.Kind == string(settings.OnNetworkAttachmentDefinition) && a.Metadata.Namespace == s.Namespace && a.Metadata.Name == s.Name
}

// keyOf is the annotation, with its prefix, that p refuses or ignores: the first of
// its keys, and "*" for several. Empty: p is about something else, or takes nothing
// away from what the user asked for.
func keyOf(p network.Problem) string {
	ofAnnotation := p.Reason == network.AnnotationInvalid || p.Reason == network.AnnotationUnknown
	if !ofAnnotation && !p.Blocks() {
		return ""
	}
	for _, key := range p.Keys {
		known := slices.ContainsFunc(settings.Keys(), func(k settings.Key) bool { return k.Name == key || k.PerNodePool && strings.HasPrefix(key, k.Name+".") })
		if known || ofAnnotation {
			return settings.Prefix + key
		}
	}
	if ofAnnotation {
		return settings.Prefix + "*"
	}
	return ""
}

// annotatedIn are the objects in a file whose annotations may be ours.
func annotatedIn(file string, data []byte) ([]annotated, error) {
	var out []annotated
	err := hcp.EachObject(data, func(kind string, object []byte) error {
		switch kind {
		case "hypershift.openshift.io HostedCluster", "hypershift.openshift.io NodePool", "k8s.cni.cncf.io NetworkAttachmentDefinition", "v1 Service":
			a := annotated{file: file}
			if err := json.Unmarshal(object, &a); err != nil {
				return err
			}
			out = append(out, a)
		}
		return nil
	})
	return out, err
}
