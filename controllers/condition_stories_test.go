package controllers

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/cldmnky/oooi/controllers/apply"
	"github.com/cldmnky/oooi/controllers/decide"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/test/golden"
)

// TestConditionStories: what `kubectl describe` shows on the HostedCluster of each story,
// from the controllers' own decision. Where something is applied, the address check has
// passed and every edge is assumed to be available.
func TestConditionStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			w := worldOf(t, story)
			d := decide.About(w, testOptions.Release, testNow)
			var o apply.Outcome
			if d.Action == decide.Serve {
				var live []appsv1.Deployment
				for _, e := range edges(t, w, d.Plan) {
					live = append(live, running(e))
				}
				w.Edges = edgesOf(live...)
				d = decide.About(w, testOptions.Release, testNow)
				o.Edges = w.Edges
			}
			c := reportOf(t, w, d, o).Condition
			// The hash of the settings changes with any annotation and is held by a test of its own.
			text := strings.TrimSuffix(c.Message, report.Settings(w.Objects)+")") + "...)"
			story.Check(t, "condition.txt", fmt.Appendf(nil, "%s=%s, reason %s\n\n%s\n", c.Type, c.Status, c.Reason, text))
		})
	}
}
