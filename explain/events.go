// This file renders Events: what changed on a HostedCluster, in at most 1 KiB.

package explain

import "strings"

// OptedOut is the note of the Event after everything was removed.
const OptedOut = "The HostedCluster opted out. All oooi objects were removed from its control plane namespace."

// Event returns the note of an Event about r: the condition's message without the settings.
func (r Report) Event() string { return Shorten(strings.Join(r.lines(), "\n"), maxEvent) }

// Event returns the note of an Event about p.
func (p ReportProblem) Event() string { return Shorten(p.Text, maxEvent) }

// Disruptions returns the note of an Event about disruptions. texts are results of NetworkRemoved, NetworkChanged,
// EdgeRecreated and EdgeRemoved.
func Disruptions(texts []string) string {
	return Shorten("A change is being applied. "+strings.Join(texts, " "), maxEvent)
}
