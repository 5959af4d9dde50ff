// Package rundir opens the Unix sockets through which the containers of an edge talk to each other.
// A VM may have taken one of them over, so what that one put in place of its socket is never followed
// elsewhere. Which sockets there are is in packages wire and envoy/resources.
package rundir

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// MakeDir creates the directory of a program's sockets and files, if it is missing. Others may read
// it: containers may run as different users.
func MakeDir(dir string) error { return os.MkdirAll(dir, 0o755) }

// Listen listens on socket. It creates a missing directory, and replaces the socket of a dead
// process.
func Listen(socket string) (net.Listener, error) {
	if err := MakeDir(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", socket)
}

// ListenOpen is Listen for a socket that each process may use that can enter its directory: containers may run as
// different users.
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
