// This file limits what is read of Events. Each user who may create them in a namespace decides how many there are, and
// the API server accepts 1.5 MB of each.

package source

import (
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// MostEvents is the largest number of Events that are read in a namespace. The API server does not return the newest
	// ones first.
	MostEvents = 1000
	// eventsPage is the limit of Events that one list request asks for.
	eventsPage = 25
	// mostEventText limits each text in an Event, in bytes. After mostCut bytes of longer texts, no more Events are read.
	mostEventText, mostCut = 1 << 10, 16 << 20
)

// ErrMoreEvents is returned with the Events that were read, if there are more.
var ErrMoreEvents = errors.New("there are too many, or they are too large. There may be newer ones")

// Warnings selects the Events of type Warning in a namespace.
func Warnings(namespace string) Wanted {
	return Wanted{Kind: KindOf("", "v1", "Event"), Namespace: namespace, fields: map[string]string{"type": corev1.EventTypeWarning}}
}

// shorten cuts long texts of an Event, and removes labels, annotations and owners. It returns the number of bytes that it cut.
func shorten(event map[string]any) (cut int) {
	if all, ok := event["metadata"].(map[string]any); ok {
		kept := []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}
		maps.DeleteFunc(all, func(key string, _ any) bool { return !slices.Contains(kept, key) })
	}
	for key, value := range event {
		switch v := value.(type) {
		case string:
			if len(v) > mostEventText {
				cut += len(v) - mostEventText
				event[key] = strings.ToValidUTF8(v[:mostEventText], "") + "..."
			}
		case map[string]any:
			cut += shorten(v)
		}
	}
	return cut
}
