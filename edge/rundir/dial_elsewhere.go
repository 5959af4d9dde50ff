// This file is for platforms where no edge runs. The command line program links it and does not call it.

//go:build !linux

package rundir

import (
	"context"
	"errors"
	"net"
)

// Dial returns an error: edges run on Linux only.
func Dial(context.Context, string) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }
