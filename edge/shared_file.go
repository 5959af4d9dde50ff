// This file reads the files through which the containers of an edge inform each other. It does not
// decide what they mean.

package edge

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

	"github.com/cldmnky/oooi/network"
)

// The limits for files of another container, in bytes. A reader has several times as much in memory
// for a moment.
const (
	// maxReportFile: ReadReport refuses more.
	maxReportFile = network.MaxReportBytes
	// maxPlanFile is the limit of a ConfigMap.
	maxPlanFile = 1 << 20
	// maxLeaseFile is enough for the leases of a /16.
	maxLeaseFile = 32 << 20
)

// A sharedFile is a file that another container may write. That container may be hostile: it
// gets no other file read, cannot make the reader wait, and fills limit bytes at most.
type sharedFile struct {
	// name is the path, and limit the most bytes that are read.
	name  string
	limit int64
	// log gets the message unread with each new error of follow.
	log    *slog.Logger
	unread string

	last   os.FileInfo
	failed string
}

// read returns the content if the file differs from the last one that read returned. Nil: it
// does not.
func (f *sharedFile) read() ([]byte, error) {
	if info, err := os.Lstat(f.name); err != nil || f.has(info) {
		return nil, err
	}
	o, err := os.OpenFile(f.name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = o.Close() }()
	info, err := o.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > f.limit {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", f.name, f.limit)
	}
	b := make([]byte, info.Size())
	if _, err = io.ReadFull(o, b); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	f.last = info
	return b, nil
}

// has reports whether info is of the content that read returned last.
func (f *sharedFile) has(info os.FileInfo) bool { return same(f.last, info) }

// same reports whether both are of one file with one content. Nil is of none.
func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// follow passes the content to use if it has changed. It logs each error once, until the file has
// been used. A missing file is no error.
func (f *sharedFile) follow(use func([]byte) error) {
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
		f.log.Warn(f.unread, "file", f.name, "err", err)
	}
}

// followUntil calls follow at once, and then at each readInterval until ctx ends.
func (f *sharedFile) followUntil(ctx context.Context, use func([]byte) error) {
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	for {
		f.follow(use)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
