// This file holds `oooi lint`, which reports annotations in files that would be refused or ignored, and unknown names. It
// never connects to a cluster, and does not report what a plan only waits for.

package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/explain"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/hcp/manifest"
	"github.com/cldmnky/oooi/hcp/settings"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
)

// A finding is one annotation or field that does not have its intended effect. It is one line of `oooi lint -o json`, on
// which scripts rely.
type finding struct {
	File string `json:"file"`
	// Line is that of the annotation in File, else of the object, from 1. 0: unknown, as for objects in a list.
	Line int `json:"line,omitempty"`
	// Object is "Kind namespace/name".
	Object string `json:"object"`
	// Key is an annotation with its prefix, or a field path such as spec.services.
	Key      string           `json:"key"`
	Reason   problem.Reason   `json:"reason"`
	Cause    problem.Cause    `json:"cause"`
	Severity problem.Severity `json:"severity"`
	Detail   string           `json:"detail"`

	// planned is true if `oooi plan` shows this problem in a plan, and mistake if it exits with 2 for it.
	planned, mistake bool
}

// String returns "file:line: Kind namespace/name: key: message", without the line if it is unknown.
func (f finding) String() string {
	at := f.File
	if f.Line > 0 {
		at += ":" + strconv.Itoa(f.Line)
	}
	return fmt.Sprintf("%s: %s: %s: %s", at, f.Object, f.Key, f.Detail)
}

// NewLint returns the command `oooi lint`.
func NewLint() *cobra.Command {
	var from *inputFlags
	c := &cobra.Command{
		Use:   "lint -f FILE|DIR...",
		Short: "Check annotations in YAML files",
		Long: `Checks the annotations ` + settings.Prefix + `* of HostedClusters,
NodePools, NetworkAttachmentDefinitions and Services. Hosted clusters that opted
in are checked as a whole: what makes oooi plan exit with 2 is a finding. Each
object is also checked alone. Each finding is one line: an error, a name that is not
in the input, or an annotation that is refused or has less effect.
The last line says what was checked.

` + inputHelp,
		Example: `  oooi lint -f clusters/
  hypershift create cluster kubevirt ... --render | oooi lint -f -
  oooi lint -f clusters/ -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			in, err := from.read(c, args)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(in.objects, isAnnotated) {
				return errors.New("there is no HostedCluster, NodePool, NetworkAttachmentDefinition or Service in the input")
			}
			clusters := in.dump.Clusters()
			found := findings(in, clusters, NewPlanner(in.dump, clusters, in.permitted).Plans())
			for _, f := range found {
				if format := from.output.String(); format == command.FormatText {
					command.Line(c.OutOrStdout(), "%s", f)
				} else if err := command.WriteData(c.OutOrStdout(), format, f); err != nil {
					return err
				}
			}
			if from.output.String() == command.FormatText {
				fmt.Fprintln(c.OutOrStdout(), in.checked(len(found)))
			}
			if len(found) > 0 {
				return command.Exit(command.ExitFault, nil)
			}
			return nil
		},
	}
	from = addInputFlags(c)
	return c
}

func (in input) checked(findings int) string {
	return fmt.Sprintf("Checked %s with %s: %s.", count(in.files, "file"), count(len(in.dump.Clusters()), "HostedCluster"), count(findings, "finding"))
}

// count returns n with a noun in the singular or plural, such as "1 file" or "2 files".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

type annotated struct{ manifest.Object }

func (a annotated) finds(p problem.Problem, key string) finding {
	isField := slices.ContainsFunc([]string{"metadata.", "spec.", "status."}, func(part string) bool { return strings.HasPrefix(key, part) })
	if !isField && !strings.Contains(key, "/") {
		key = settings.Prefix + key
	}
	return finding{File: a.File, Line: cmp.Or(a.Lines[key], a.Lines[""]), Object: a.String(), Key: key, Reason: p.Reason, Cause: p.Cause, Severity: p.Level(), Detail: explain.Problem(p).String(), mistake: isMistake(p)}
}

// named reports whether s has the name of a. If s has a namespace, it must be that of a as well.
func (a annotated) named(s problem.Subject) bool {
	return a.Name == s.Name && (s.Namespace == "" || a.Namespace == s.Namespace)
}

func (a annotated) sets(key string) bool {
	_, ok := a.Annotations[settings.Prefix+key]
	return ok
}

func isAnnotated(o manifest.Object) bool {
	_, ok := files.PlaceOf(o)
	return ok
}

func (in input) annotated() []annotated {
	var out []annotated
	for _, o := range in.objects {
		if isAnnotated(o) {
			out = append(out, annotated{o})
		}
	}
	return out
}

// findings returns the findings about an input, sorted by file, object and key. clusters are the hosted clusters of the input,
// with the annotations of --set, and plans are their plans.
func findings(in input, clusters []hcp.Objects, plans []Planned) []finding {
	all := in.annotated()
	var found []finding
	known := map[[4]string]bool{} // The plans of two clusters may have the same problem.
	add := func(f finding) {
		if place := [4]string{f.File, f.Object, f.Key, f.Detail}; !known[place] {
			known[place], found = true, append(found, f)
		}
	}
	for _, p := range plans {
		its := ofCluster(p.objects, all)
		for _, fault := range p.Problems {
			if isFinding(fault, its) {
				f := toChange(fault, its, all)
				f.planned = true
				add(f)
			}
		}
	}
	for _, fault := range in.dump.Strays() {
		if optedIn(fault.Subject.Namespace, clusters) {
			add(toChange(fault, nil, all))
		}
	}
	for _, a := range all {
		for _, version := range append([]manifest.Object{a.Object}, a.Unused...) {
			v := annotated{version}
			for _, fault := range alone(v, clusters) {
				add(v.finds(fault, bestKey(fault)))
			}
		}
		for _, other := range a.Unused {
			on := problem.Subject{Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}
			add(annotated{other}.finds(problem.New(problem.FilesDisagree, on, problem.Args{"file": {a.File}}), "metadata.name"))
		}
	}
	slices.SortStableFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Object, b.Object), strings.Compare(a.Key, b.Key))
	})
	return found
}

func optedIn(namespace string, clusters []hcp.Objects) bool {
	return slices.ContainsFunc(clusters, func(o hcp.Objects) bool {
		return o.HostedCluster.Namespace == namespace && hcp.OptedIn(o.HostedCluster)
	})
}

// alone returns the problems of object a that can be found without a plan. KubeVirt's cloud provider copies Services
// from the hosted cluster. Such a copy has no problems, because a user of the hosted cluster set its annotations.
func alone(a annotated, clusters []hcp.Objects) problem.Problems {
	place := settings.Place(a.Kind)
	if _, copied := a.Labels[settings.LabelHostedService]; copied && place == settings.OnService {
		return nil
	}
	name := files.NameOf(a.Object)
	return slices.Concat(settings.Check(a.Kind, name, a.Annotations), settings.Unquoted(place, name, a.Annotations, a.Unquoted),
		settings.Labels(place, name, a.Labels), publishedElsewhere(a, clusters))
}

// publishedElsewhere returns the problem of a Service with annotation publish, object a, outside the control plane
// namespaces of clusters. There, the annotation has no effect. If clusters is empty, it returns nil.
func publishedElsewhere(a annotated, clusters []hcp.Objects) problem.Problems {
	inControlPlane := func(o hcp.Objects) bool { return hcp.ControlPlaneNamespace(o.HostedCluster) == a.Namespace }
	if a.Kind != string(settings.OnService) || a.Namespace == "" || !a.sets(network.KeyPublish) || len(clusters) == 0 || slices.ContainsFunc(clusters, inControlPlane) {
		return nil
	}
	on := problem.Subject{Kind: a.Kind, Name: a.Name}
	return problem.Problems{problem.New(problem.PublishedElsewhere, on, problem.Args{"namespace": {a.Namespace}}, network.KeyPublish)}
}

// isMistake reports whether `oooi plan` exits with 2 for p.
func isMistake(p problem.Problem) bool { return p.Mistake() || explain.FailsAlone(p) }

// isFinding reports whether p is a finding. Findings are mistakes, and all problems of annotations without effect. If an
// object in parameter objects has an annotation that a Warning is about, the Warning is also a finding, even if the
// annotation may be right.
func isFinding(p problem.Problem, objects []annotated) bool {
	if isMistake(p) || p.Reason == problem.AnnotationUnknown {
		return true
	}
	return p.Level() == problem.SeverityWarning && slices.ContainsFunc(p.Keys, func(key string) bool {
		return slices.ContainsFunc(objects, func(a annotated) bool { return a.sets(key) })
	})
}

// bestKey returns the annotation that a user should change to fix p. "*": p is not about one annotation.
func bestKey(p problem.Problem) string {
	if len(p.Keys) == 0 {
		return "*"
	}
	return p.Keys[0]
}

// ofCluster returns the objects whose annotations concern o, the HostedCluster first.
func ofCluster(o hcp.Objects, all []annotated) []annotated {
	order := []settings.Place{settings.OnHostedCluster, settings.OnNodePool, settings.OnNetworkAttachmentDefinition, settings.OnService}
	its := slices.DeleteFunc(slices.Clone(all), func(a annotated) bool { return !files.Has(o, a.Object) })
	at := func(x annotated) int { return slices.Index(order, settings.Place(x.Kind)) }
	slices.SortStableFunc(its, func(a, b annotated) int { return at(a) - at(b) })
	return its
}

// toChange returns the finding about p, with the object to change. The first choice is the subject of p, if it is in
// parameter objects. A subject with a namespace may also be in parameter all. The second choice is an object that sets a
// key of p: a HostedCluster, a NodePool, or the object of a subject of kind Network. The last choice is objects[0], the
// HostedCluster.
func toChange(p problem.Problem, objects, all []annotated) finding {
	about := slices.Clone(objects)
	if p.Subject.Namespace != "" {
		about = append(about, all...)
	}
	if i := slices.IndexFunc(about, func(a annotated) bool { return a.Kind == p.Subject.Kind && a.named(p.Subject) }); i >= 0 {
		return about[i].finds(p, bestKey(p))
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
