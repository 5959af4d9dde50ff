// This file holds the document about an edge's data plane that `oooi-edge diagnostics` writes and `oooi must-gather` reads.

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// DiagnosticsVersion is the version of Diagnostics. New fields and parts do not change it.
const DiagnosticsVersion = 1

// The limits of Diagnostics: an edge stops collecting after DiagnosticsTimeout, and its document has at most DiagnosticsBytes.
const (
	DiagnosticsTimeout = 5 * time.Second
	DiagnosticsBytes   = 4 << 20
)

// DiagnosticsCommand returns the command that prints Diagnostics in container Failover, which sees the others' sockets.
func DiagnosticsCommand() []string { return []string{Program, "diagnostics", "--run-dir", RunDir} }

// Diagnostics is what an edge reports about its data plane.
type Diagnostics struct {
	Version int `json:"version"`
	// Program is the version of the edge's program.
	Program string `json:"program"`
	// Time is when the edge began to collect.
	Time  time.Time         `json:"time"`
	Parts []DiagnosticsPart `json:"parts"`
}

// A DiagnosticsPart is what one source reported, such as the kernel's routes.
type DiagnosticsPart struct {
	Name string `json:"name"`
	// Content is JSON, empty if there is none.
	Content json.RawMessage `json:"content,omitempty"`
	// Missing is what Content lacks, and why. Empty: it is whole.
	Missing string `json:"missing,omitempty"`
}

// ReadDiagnostics parses a document. It ignores unknown fields. It returns an error for a newer version, whose fields may have
// another meaning.
func ReadDiagnostics(b []byte) (Diagnostics, error) {
	var d Diagnostics
	if err := json.Unmarshal(b, &d); err != nil {
		return Diagnostics{}, fmt.Errorf("not the diagnostics of an edge: %w", err)
	}
	switch {
	case d.Version > DiagnosticsVersion:
		return Diagnostics{}, fmt.Errorf("diagnostics of version %d, but this version of oooi reads up to %d", d.Version, DiagnosticsVersion)
	case d.Version < 1 || len(d.Parts) == 0:
		return Diagnostics{}, errors.New("not the diagnostics of an edge: version or parts are missing")
	}
	return d, nil
}
