// Package source reads what commands work on: objects of a cluster with the rights of the user, of files, and of what
// `oooi must-gather` wrote. This file reads files, directories and standard input. It decides nothing about their content.
package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cldmnky/oooi/hcp/manifest"
)

// A Reading returns the objects in the content of a file. manifest.Read is one.
type Reading func(file string, content []byte) ([]manifest.Object, []manifest.Fault)

// A Content is what was read of one file.
type Content struct {
	Name string
	Data []byte
	// Found is true for a file in a directory. The user named all others.
	Found bool
}

// A FileReader reads each file once, also if links lead to it several times.
type FileReader struct {
	Stdin io.Reader
	// seen are real paths.
	seen map[string]bool
	// roots are the real paths of the directories that the user named. No link leads out of them.
	roots []string
	Do    func(Content)
	// Unread is called for each file of a directory that cannot be read.
	Unread func(name string, err error)
}

// maxFile is the size of the largest file that is read, in bytes.
const maxFile = 1 << 30

// EachFile calls Do with the content of files, and of every YAML or JSON file below directories. Links
// are followed, unless they lead out of all named directories. An error is about a file or directory
// that the user named.
func (r FileReader) EachFile(files []string) error {
	if len(files) == 0 {
		return errors.New("name a file or a directory with -f (- is standard input)")
	}
	r.seen = map[string]bool{}
	for _, f := range files {
		if root, err := realPath(f); err == nil {
			r.roots = append(r.roots, root)
		}
	}
	for _, f := range files {
		if err := r.named(f); err != nil {
			return err
		}
	}
	return nil
}

// named reads a file or directory that the user named.
func (r FileReader) named(file string) error {
	if file == "-" {
		data, err := io.ReadAll(r.Stdin)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		r.Do(Content{Name: "standard input", Data: data})
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return r.directory(file)
	}
	return r.file(file, false)
}

// file reads one file, unless it was read before.
func (r FileReader) file(path string, found bool) error {
	if r.again(path) {
		return nil
	}
	if info, err := os.Stat(path); err == nil && info.Size() > maxFile {
		return &fs.PathError{Op: "read", Path: path, Err: errors.New("larger than 1 GiB")}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r.Do(Content{Name: path, Data: data, Found: found})
	return nil
}

// again reports whether path was read before, and remembers it. A pipe has no real path.
func (r FileReader) again(path string) bool {
	at, err := realPath(path)
	if err != nil {
		return false
	}
	before := r.seen[at]
	r.seen[at] = true
	return before
}

// realPath is the absolute path of the file that links lead to.
func realPath(path string) (string, error) {
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(at)
}

// outside returns where the link at path leads to, if that is in no directory that the user named. A
// collected directory must not make other files of this host count.
func (r FileReader) outside(path string) (target string, ok bool) {
	target, err := realPath(path)
	return target, err == nil && !slices.ContainsFunc(r.roots, func(root string) bool {
		below, err := filepath.Rel(root, target)
		return err == nil && filepath.IsLocal(below)
	})
}

// directory reads the YAML and JSON files in a directory and below.
func (r FileReader) directory(dir string) error {
	if r.again(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if err := r.entry(path, e); err != nil {
			r.Unread(path, err)
		}
	}
	return err
}

// entry reads one entry of a directory.
func (r FileReader) entry(path string, e fs.DirEntry) error {
	mode, link := e.Type(), e.Type()&fs.ModeSymlink != 0
	if link {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		mode = info.Mode()
	}
	if !mode.IsDir() && !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".ndjson"}, strings.ToLower(filepath.Ext(path))) {
		return nil
	}
	if target, outside := r.outside(path); link && outside {
		return fmt.Errorf("a link to %s, outside the directories that -f names. To read it, name it with -f", target)
	}
	switch {
	case mode.IsDir():
		return r.directory(path)
	case !mode.IsRegular():
		return errors.New("not a regular file")
	}
	return r.file(path, true)
}

// Plainly is err without the path, which is said already.
func Plainly(err error) error {
	var inPath *fs.PathError
	if errors.As(err, &inPath) {
		return inPath.Err
	}
	return err
}
