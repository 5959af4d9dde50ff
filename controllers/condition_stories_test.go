package controllers

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/cldmnky/oooi/test/golden"
)

// TestConditionStories: what `kubectl describe` shows on the HostedCluster of each story,
// from the controllers' own decision. Where something is applied, the address check has
// passed and every edge is assumed to be available.
func TestConditionStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			w := worldOf(t, story)
			d := decide(w, testOptions, testNow)
			var o outcome
			if d.action == serve {
				var live []appsv1.Deployment
				for _, e := range edges(t, w, d.plan) {
					live = append(live, running(e))
				}
				w.edges = edgesOf(live...)
				d = decide(w, testOptions, testNow)
				o.edges = w.edges
			}
			c, ok := condition(w, d, verdictOf(w, d, o), testNow)
			if !ok {
				t.Fatal("no condition")
			}
			// The hash of the settings changes with any annotation and is held by a test of its own.
			text := strings.TrimSuffix(c.Message, Settings(w.Objects)+")") + "...)"
			story.Check(t, "condition.txt", fmt.Appendf(nil, "%s=%s, reason %s\n\n%s\n", c.Type, c.Status, c.Reason, text))
		})
	}
}
