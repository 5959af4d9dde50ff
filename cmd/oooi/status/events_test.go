package status

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cldmnky/oooi/test/blue"
)

// TestStatusEvents: the five newest warnings about the HostedCluster and its edges are shown, the newest first,
// each once, and nothing about others.
func TestStatusEvents(t *testing.T) {
	f := blueFacts()
	event := func(kind, namespace, name, reason string, ago time.Duration, set func(*corev1.Event)) {
		e := corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: "Why.\n\x1b[2J", InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: namespace, Name: name}}
		e.LastTimestamp = metav1.NewTime(blue.At.Add(-ago))
		set(&e)
		f.events = append(f.events, e)
	}
	same := func(*corev1.Event) {}
	event("HostedCluster", "clusters", "blue", "EdgeUnavailable", 2*time.Minute, same)
	event("HostedCluster", "clusters", "green", "Other", 0, same)
	event("Pod", "clusters-blue", "etcd-0", "Other", 0, same)
	event("Pod", "clusters-blue", "oooi-edge-a", "Normal", 0, func(e *corev1.Event) { e.Type = corev1.EventTypeNormal })
	event("Pod", "clusters-blue", "oooi-edge-a", "Repeated", time.Hour, func(e *corev1.Event) {
		e.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(blue.At.Add(-time.Minute))}
	})
	event("HostedCluster", "clusters", "blue", "EdgeUnavailable", 3*time.Minute, same)
	for i := range 4 {
		event("ReplicaSet", "clusters-blue", "oooi-edge-a", fmt.Sprint("Old", i), time.Duration(10+i)*time.Minute, same)
	}
	g := NewWithT(t)
	var reasons []string
	for _, e := range OutputOf(f, blue.At).Events {
		reasons = append(reasons, e.Reason)
	}
	g.Expect(reasons).To(Equal([]string{"Repeated", "EdgeUnavailable", "Old0", "Old1", "Old2"}))
	var out bytes.Buffer
	g.Expect(OutputOf(f, blue.At).write(&out, "text", false, true)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("\nRecent warnings\n  2026-03-04T05:05:07Z Pod clusters-blue/oooi-edge-a: Repeated: Why. \ufffd[2J\n  2026-03-04T05:04:07Z HostedCluster clusters/blue: EdgeUnavailable: "))
	g.Expect(strings.Count(out.String(), "\ufffd")).To(Equal(5))
}
