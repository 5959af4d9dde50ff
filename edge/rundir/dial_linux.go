// This file connects to a socket on Linux, and follows no link.

package rundir

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Dial connects to a socket in another container's directory. A link in place of it is an error.
func Dial(ctx context.Context, socket string) (*net.UnixConn, error) {
	// The descriptor refers to the opened file, whatever has the path now.
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
