package controllers

import (
	"slices"
	"strings"
	"testing"

	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/derive"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/hcp/files"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/problem"
	"github.com/cldmnky/oooi/test/worlds"
)

// TestPlanAndOperatorAgree checks random worlds. The operator serves what Derive plans and nothing else, and
// an Error of the operator is one that `oooi plan` has for the same objects in files.
func TestPlanAndOperatorAgree(t *testing.T) {
	stories, served := worlds.OfStories(t), 0
	for seed := range worlds.Count(t, 200) {
		w := worlds.Random(stories, seed, 4)
		dump := &files.Dump{}
		if dump.Add(w.Manifests()) != nil {
			continue // no API server has such a Node or Service
		}
		for i := range dump.Clusters() {
			n, broken := agree(dump, i)
			served += n
			if broken != "" {
				t.Fatalf("%s\nseed %d, story %s: %s", broken, seed, w.Story, strings.Join(w.Changes, "; "))
			}
		}
	}
	if served < 20 {
		t.Fatalf("only %d clusters are served", served)
	}
}

// agree returns how the operator and `oooi plan` differ on one cluster of dump. Empty: they agree.
func agree(dump *files.Dump, at int) (served int, broken string) {
	w := worldOfClusters(dump.Clusters(), at)
	if !hcp.OptedIn(w.HostedCluster) || !w.HostedCluster.DeletionTimestamp.IsZero() {
		return 0, ""
	}
	d := decide.About(w, testOptions.Release, testNow)
	if d.Err != nil {
		return 0, "the plan is invalid: " + d.Err.Error()
	}
	request, facts := hcp.Translate(w.Objects, network.Plan{})
	plan, ok := derive.Derive(request, facts, network.Plan{}, w.Others).Plan()
	if d.Action == decide.Serve && (!ok || string(plan.JSON()) != string(d.Plan.JSON())) {
		return 0, "the operator serves what Derive does not plan"
	}
	if d.Action == decide.Leave && ok && mayServe(d.Problems) {
		return 0, "the operator leaves out what could be served"
	}
	inFiles := dump.Clusters()[at]
	request, facts = hcp.Translate(inFiles, network.Plan{})
	told := derive.Derive(request, facts, network.Plan{}, w.Others).Problems
	for _, p := range d.Problems {
		// In files, what is missing may exist in the cluster. Then the problem has another reason.
		same := slices.ContainsFunc(told, func(x problem.Problem) bool { return x.Reason == p.Reason || x.Subject == p.Subject })
		if unknown := p.Cause == problem.SRIOVResourceExhausted && len(inFiles.Nodes) == 0; unknown {
			continue
		}
		if p.Level() == problem.SeverityError && !same {
			return 0, "only the operator has the Error " + string(p.Cause) + " about " + p.Subject.String()
		}
	}
	if d.Action == decide.Serve {
		served = 1
	}
	return served, ""
}

// TestOperatorNeverMakesAnInvalidPlan checks random worlds after random changes, with the plan of the
// former world in force. Whatever was edited, what is served is valid.
func TestOperatorNeverMakesAnInvalidPlan(t *testing.T) {
	stories, served := worlds.OfStories(t), 0
	for seed := range worlds.Count(t, 100) {
		before := worlds.Random(stories, seed, 2)
		later := before.Later(seed, 4)
		was, now := &files.Dump{}, &files.Dump{}
		if was.Add(before.Manifests()) != nil || now.Add(later.Manifests()) != nil {
			continue // no API server has such a Node or Service
		}
		for i := range now.Clusters() {
			last := servedTo(was.Clusters(), now.Clusters()[i].HostedCluster.Name)
			if len(last.Networks) == 0 {
				continue
			}
			w := worldOfClusters(now.Clusters(), i)
			w.Last = last
			d := decide.About(w, testOptions.Release, testNow)
			if d.Err != nil {
				t.Fatalf("the plan is invalid: %v\nseed %d, story %s: %s", d.Err, seed, later.Story, strings.Join(later.Changes, "; "))
			}
			if d.Action == decide.Serve {
				served++
			}
		}
	}
	if served < 20 {
		t.Fatalf("only %d clusters are served", served)
	}
}

// servedTo is what is served to the hosted cluster of this name. Empty: nothing.
func servedTo(clusters []hcp.Objects, name string) network.Plan {
	i := slices.IndexFunc(clusters, func(o hcp.Objects) bool { return o.HostedCluster.Name == name })
	if i < 0 {
		return network.Plan{}
	}
	if d := decide.About(worldOfClusters(clusters, i), testOptions.Release, testNow); d.Action == decide.Serve {
		return d.Plan
	}
	return network.Plan{}
}
