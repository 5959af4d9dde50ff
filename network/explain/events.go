// This file renders Events: what changed on a HostedCluster, in at most 1 KiB.

package explain

import "strings"

// OptedOut is the note of the Event after everything was removed.
const OptedOut = "The HostedCluster opted out. All oooi objects were removed from its control plane namespace."

// Event is the note of the Event about c: its message without the settings.
func (c Condition) Event() string {
	text, _, _ := strings.Cut(c.Message, "\n(settings ")
	return Shorten(text, maxEvent)
}

// Disruptions is the note of the Event about what a change interrupts. texts are
// those of NetworkRemoved, NetworkChanged, EdgeRecreated and EdgeRemoved.
func Disruptions(texts []string) string {
	return Shorten("A change is being applied. "+strings.Join(texts, " "), maxEvent)
}
