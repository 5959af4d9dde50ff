// Package sharedfiles passes data between the containers of an edge, through files in directories with one
// writer each. Most containers have no token for the API server. They read the plan, leases and keys from
// shared files, and store reports in them. The files survive a restart of a container.
package sharedfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/signal"
	"github.com/cldmnky/oooi/reported"
)

// The limits for files of another container, in bytes. A reader needs several times as much memory for a
// moment.
const (
	// maxReportFile: reported.Read refuses more.
	maxReportFile = reported.MaxBytes
	// maxLeaseFile is enough for the leases of a /16.
	maxLeaseFile = 32 << 20
)

// ReadInterval is how often files are read. A mounted ConfigMap is a link that is swapped, which a watch would
// not notice.
const ReadInterval = time.Second

// A Shared is a file of another container. A hostile container cannot make the reader read another file,
// wait, or read more than Limit bytes.
type Shared struct {
	// Name is the path, and Limit the most bytes that are read.
	Name  string
	Limit int64
	// Log gets the message Unread with each new error of Follow.
	Log    *slog.Logger
	Unread string

	last   os.FileInfo
	failed string
}

// read returns the content if the file differs from what read returned last, else nil.
func (f *Shared) read() ([]byte, error) {
	if info, err := os.Lstat(f.Name); err != nil || Same(f.last, info) {
		return nil, err
	}
	o, err := os.OpenFile(f.Name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.Close() }()
	info, err := o.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > f.Limit {
		return nil, fmt.Errorf("%s is not a regular file of at most %d bytes", f.Name, f.Limit)
	}
	b := make([]byte, info.Size())
	if _, err = io.ReadFull(o, b); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	f.last = info
	return b, nil
}

// ModTime returns when the content that read returned last was stored. Zero: there is none.
func (f *Shared) ModTime() time.Time {
	if f.last == nil {
		return time.Time{}
	}
	return f.last.ModTime()
}

// Forget makes the next read return the content again.
func (f *Shared) Forget() { f.last = nil }

// Same reports whether a and b describe one file with unchanged content. Nil describes no file.
func Same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Follow calls use with the content if it has changed. It logs each new error. A missing file is not an error.
func (f *Shared) Follow(use func([]byte) error) {
	b, err := f.read()
	switch {
	case err == nil && b == nil, errors.Is(err, fs.ErrNotExist):
		return
	case err == nil:
		err = use(b)
	}
	if err == nil {
		f.failed = ""
		return
	}
	if f.failed != err.Error() {
		f.failed = err.Error()
		f.Log.Warn(f.Unread, "file", f.Name, "err", err)
	}
}

// followUntil calls Follow at each ReadInterval until ctx ends.
func (f *Shared) followUntil(ctx context.Context, use func([]byte) error) {
	for ctx.Err() == nil {
		f.Follow(use)
		signal.Sleep(ctx, ReadInterval)
	}
}
