// Package rundir opens the Unix sockets through which the containers of an edge talk to each other. A
// VM may control one of them, so a link in place of a socket is never followed. Packages wire and
// envoy/resources name the sockets.
package rundir

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// MakeDir creates the directory of a program's files, if missing. Other containers, with other users, may read
// it.
func MakeDir(dir string) error { return os.MkdirAll(dir, 0o755) }

// Listen listens on socket. It creates a missing directory, and replaces the socket of a dead process.
func Listen(socket string) (net.Listener, error) {
	if err := MakeDir(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", socket)
}

// ListenOpen is Listen for a socket that every process with access to its directory may use, whatever its user.
func ListenOpen(socket string) (net.Listener, error) {
	l, err := Listen(socket)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(socket, 0o666); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
