package source

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// manyEvents is a namespace in which a tenant has created as many Events as it could, of the largest size.
type manyEvents struct {
	client.Reader
	text string
	// largest is the largest number of Events in one answer.
	largest int64
}

func (m *manyEvents) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	m.largest = max(m.largest, asked.Limit)
	list := into.(*unstructured.UnstructuredList)
	for range asked.Limit {
		list.Items = append(list.Items, unstructured.Unstructured{Object: map[string]any{"kind": "Event", "message": m.text, "reason": m.text,
			"involvedObject": map[string]any{"kind": m.text, "name": "blue"}, "metadata": map[string]any{"name": "a", "annotations": map[string]any{"a": m.text}}}})
	}
	list.SetContinue("more")
	return nil
}

// TestHostileEvents: Events without end, small ones or of 1 MB each, cost megabytes, and the rest is reported as unread.
func TestHostileEvents(t *testing.T) {
	for size, most := range map[int]int{1 << 19: eventsPage, 1: MostEvents} {
		g := NewWithT(t)
		api := &manyEvents{text: strings.Repeat("\u00e9", size)}
		found, err := Warnings("clusters").Read(t.Context(), api)
		g.Expect(err).To(MatchError(ErrMoreEvents))
		g.Expect(found).To(HaveLen(most))
		g.Expect(api.largest).To(BeNumerically("<=", 25))
		g.Expect(len(fmt.Sprint(found[0].Object))).To(BeNumerically("<", 4<<10))
		g.Expect(found[0].GetName()).To(Equal("a"))
	}
}

// reviewed answers reviews of rights: only the ServiceAccount in field operator has any.
type reviewed struct {
	client.Client
	operator string
	err      error
}

func (r reviewed) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	review := o.(*authorizationv1.SubjectAccessReview)
	review.Status.Allowed = review.Spec.User == r.operator
	return r.err
}

// TestDecoyOperators: a Deployment with the operator's labels in a tenant's namespace is not the operator.
func TestDecoyOperators(t *testing.T) {
	of := func(namespace string) unstructured.Unstructured {
		o := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"serviceAccountName": "oooi"}}}}}
		o.SetNamespace(namespace)
		return o
	}
	both := []unstructured.Unstructured{of("clusters"), of("oooi-system")}
	g := NewWithT(t)
	g.Expect(Operators(t.Context(), reviewed{operator: "system:serviceaccount:oooi-system:oooi"}, both)).To(Equal(both[1:]))
	g.Expect(Operators(t.Context(), reviewed{}, both)).To(Equal(both), "none has the right")
	g.Expect(Operators(t.Context(), reviewed{err: errors.New("forbidden")}, both)).To(Equal(both))
	g.Expect(Operators(t.Context(), reviewed{}, both[:1])).To(Equal(both[:1]))
}
