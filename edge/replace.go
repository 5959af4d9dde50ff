// This file replaces and reads the files in which an edge keeps what outlives a container, and
// through which its containers inform each other.

package edge

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// ReplaceFile writes b to file. A reader sees the former content or b, and never a part. It
// needs a second file with the suffix ".new".
func ReplaceFile(file string, b []byte) error {
	if err := os.WriteFile(file+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// maxSharedFile is the limit for a file of another container, in bytes: a cache with the leases
// of a /16.
const maxSharedFile = 32 << 20

// A sharedFile is a file that another container may write. That container may be hostile: it
// gets no other file read, and cannot make the reader wait. Name is its path.
type sharedFile struct {
	name string
	last os.FileInfo
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
	if !info.Mode().IsRegular() || info.Size() > maxSharedFile {
		return nil, fmt.Errorf("%s is no file of at most %d bytes", f.name, maxSharedFile)
	}
	b, err := io.ReadAll(io.LimitReader(o, maxSharedFile))
	if err == nil {
		f.last = info
	}
	return b, err
}

// has reports whether info is of the content that read returned last.
func (f *sharedFile) has(info os.FileInfo) bool {
	return f.last != nil && os.SameFile(f.last, info) && f.last.ModTime().Equal(info.ModTime()) && f.last.Size() == info.Size()
}
