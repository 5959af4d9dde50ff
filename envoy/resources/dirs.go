// This file names the sockets through which Envoy and its server talk.

package resources

import "path/filepath"

// Dirs are the directories of the sockets of one Envoy.
type Dirs struct {
	// Server is the directory of the sockets of Envoy's server. Only the server can write it, so Envoy cannot replace them.
	Server string
	// Envoy is the directory of Envoy's own sockets. It must exist, and Envoy must be able to write it.
	Envoy string
}

// NewDirs returns the Dirs of one Envoy.
func NewDirs(server, envoy string) Dirs { return Dirs{Server: server, Envoy: envoy} }

// XDS is the socket of the resources, of package ads.
func (d Dirs) XDS() string { return filepath.Join(d.Server, "xds.sock") }

// AccessLog is the socket of package accesslog, at which Envoy reports connections.
func (d Dirs) AccessLog() string { return filepath.Join(d.Server, "access-log.sock") }

// Gate is the socket at which Envoy asks about new connections, of package gate.
func (d Dirs) Gate() string { return filepath.Join(d.Server, "gate.sock") }

// Admin is the socket of Envoy's admin interface, of package admin.
func (d Dirs) Admin() string { return filepath.Join(d.Envoy, "admin.sock") }

// Reach is the socket whose connections lead to the hosted API server. See newReachListener.
func (d Dirs) Reach() string { return filepath.Join(d.Envoy, "reach.sock") }
