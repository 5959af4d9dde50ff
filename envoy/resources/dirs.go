// This file names the sockets between Envoy and oooi's servers.

package resources

import "path/filepath"

// Dirs are the directories of the sockets of one Envoy.
type Dirs struct {
	// Server is the directory of the servers' sockets. Only the servers can write it, so Envoy cannot replace these
	// sockets.
	Server string
	// Envoy is the directory of Envoy's own sockets. It must exist, and Envoy must be able to write it.
	Envoy string
}

// NewDirs returns the Dirs of one Envoy.
func NewDirs(server, envoy string) Dirs { return Dirs{Server: server, Envoy: envoy} }

// XDS returns the path of the socket of package ads, which serves resources.
func (d Dirs) XDS() string { return filepath.Join(d.Server, "xds.sock") }

// AccessLog returns the path of the socket of package accesslog, at which Envoy reports connections.
func (d Dirs) AccessLog() string { return filepath.Join(d.Server, "access-log.sock") }

// Gate returns the path of the socket of package gate, at which Envoy asks about new connections.
func (d Dirs) Gate() string { return filepath.Join(d.Server, "gate.sock") }

// Admin returns the path of the socket of Envoy's admin interface, which package admin uses.
func (d Dirs) Admin() string { return filepath.Join(d.Envoy, "admin.sock") }

// Reach returns the path of the socket whose connections Envoy forwards to the hosted API server. See
// newReachListener.
func (d Dirs) Reach() string { return filepath.Join(d.Envoy, "reach.sock") }
