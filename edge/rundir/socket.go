// Package rundir opens the Unix sockets through which the containers of an edge talk to each other.
// A VM may have taken one of them over, so what that one put in place of its socket is never followed
// elsewhere. Which sockets there are is in packages wire and envoy.
package rundir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
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

// Dial connects to a socket in another container's directory. A link in place of the socket is an
// error.
func Dial(ctx context.Context, socket string) (*net.UnixConn, error) {
	// The descriptor names what was opened, whatever has the path now.
	fd, err := unix.Open(socket, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: socket, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return nil, &os.PathError{Op: "stat", Path: socket, Err: err}
	}
	if s.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return nil, fmt.Errorf("%s is not a socket", socket)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", "/proc/self/fd/"+strconv.Itoa(fd))
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}
