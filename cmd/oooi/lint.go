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

// A finding is one annotation or field that would not do what it says, and one line
// of `oooi lint -o json`: a promise to scripts.
type finding struct {
	File string `json:"file"`
	// Object is "Kind namespace/name".
	Object string `json:"object"`
	// Key is an annotation with its prefix, or a field path such as spec.services.
	Key      string           `json:"key"`
	Reason   network.Reason   `json:"reason"`
	Cause    network.Cause    `json:"cause"`
	Severity network.Severity `json:"severity"`
	Detail   string           `json:"detail"`
}

// String is "file: Kind namespace/name: key: message".
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

// finds is p as a finding about key of a.
func (a annotated) finds(p network.Problem, key string) finding {
	if !strings.HasPrefix(key, "spec.") && !strings.HasPrefix(key, "status.") {
		key = settings.Prefix + key
	}
	return finding{File: a.file, Object: a.String(), Key: key, Reason: p.Reason, Cause: p.Cause, Severity: p.Level(), Detail: explain.Problem(p).String()}
}

// named reports whether s has a's name, and its namespace where it says one.
func (a annotated) named(s network.Subject) bool {
	return a.Metadata.Name == s.Name && (s.Namespace == "" || a.Metadata.Namespace == s.Namespace)
}

// sets reports whether a has the annotation key, without prefix.
func (a annotated) sets(key string) bool {
	_, ok := a.Metadata.Annotations[settings.Prefix+key]
	return ok
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
	known := map[string]bool{}
	for _, a := range all {
		for _, p := range settings.Check(a.Kind, a.Metadata.Name, a.Metadata.Annotations) {
			found, known[identity(p)] = append(found, a.finds(p, bestKey(p))), true
		}
	}
	clusters := dump.Clusters()
	for _, o := range clusters {
		if !hcp.OptedIn(o.HostedCluster) {
			continue
		}
		for _, p := range planFor(o, clusters).Problems {
			if isFinding(p) && !known[identity(p)] {
				found = append(found, toChange(p, ofCluster(o, all)))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Object, b.Object), strings.Compare(a.Key, b.Key))
	})
	return found, nil
}

// isFinding reports whether p is about something in the input that is refused or ignored:
// every error that names an annotation or a field is, and every annotation without
// effect.
func isFinding(p network.Problem) bool {
	ofAnnotations := p.Reason == network.AnnotationInvalid || p.Reason == network.AnnotationUnknown
	return ofAnnotations || p.Blocks() && len(p.Keys) > 0
}

// bestKey is the best key of p to change, "*" where p is about all annotations.
func bestKey(p network.Problem) string {
	if len(p.Keys) == 0 {
		return "*"
	}
	return p.Keys[0]
}

// identity is equal for one fact that was found twice.
func identity(p network.Problem) string {
	return fmt.Sprint(p.Cause, p.Subject.Kind, p.Subject.Name, p.Keys)
}

// ofCluster are the objects whose annotations speak of o: the HostedCluster first, its
// NodePools, then NetworkAttachmentDefinitions and Services.
func ofCluster(o hcp.Objects, all []annotated) []annotated {
	hc := o.HostedCluster
	var cluster, pools, rest []annotated
	for _, a := range all {
		switch settings.Place(a.Kind) {
		case settings.OnHostedCluster:
			if a.Metadata.Namespace == hc.Namespace && a.Metadata.Name == hc.Name {
				cluster = append(cluster, a)
			}
		case settings.OnNodePool:
			if a.Metadata.Namespace == hc.Namespace && a.Spec.ClusterName == hc.Name {
				pools = append(pools, a)
			}
		default:
			rest = append(rest, a)
		}
	}
	return slices.Concat(cluster, pools, rest)
}

// toChange is the finding about p: at the object that p is about, else where the best
// of p's keys that is set is, else at the HostedCluster, the first of objects.
func toChange(p network.Problem, objects []annotated) finding {
	if i := slices.IndexFunc(objects, func(a annotated) bool { return a.Kind == p.Subject.Kind && a.named(p.Subject) }); i >= 0 {
		return objects[i].finds(p, bestKey(p))
	}
	for _, key := range p.Keys {
		for _, a := range objects {
			onCluster := a.Kind == string(settings.OnHostedCluster) || a.Kind == string(settings.OnNodePool)
			if a.sets(key) && (onCluster || p.Subject.Kind == "Network" && a.named(p.Subject)) {
				return a.finds(p, key)
			}
		}
	}
	return objects[0].finds(p, bestKey(p))
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
