// Package source reads the input of commands: objects of a cluster, with the user's rights, objects in files, and the output
// of `oooi must-gather`. This file reads files, directories and standard input. It does not interpret their content.
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

// A Reading returns the objects in the content of a file, as manifest.Read does.
type Reading func(file string, content []byte) ([]manifest.Object, []manifest.Fault)

// Files are the objects and the faults in all files that were read. An object may occur several times.
type Files struct {
	Objects []manifest.Object
	Faults  []manifest.Fault
	// Count is the number of files that were read.
	Count int

	read Reading
	// seen are the paths of files that were read, without symbolic links.
	seen map[string]bool
	// roots are the paths that the user named, without symbolic links. A link to a file outside them is an error.
	roots []string
	// named are the files that the user named. All other files were found in directories.
	named map[string]bool
}

// maxFile is the largest size of a file that is read, in bytes.
const maxFile = 1 << 30

// ReadFiles reads the files in paths, and every YAML or JSON file below the directories in paths. It reads each file once.
// Path - is stdin. It follows symbolic links in directories only to files in paths or below them. If a path in parameter
// paths cannot be read, it returns an error. Any other error is one of the Faults.
func ReadFiles(stdin io.Reader, paths []string, read Reading) (Files, error) {
	f := Files{read: read, seen: map[string]bool{}, named: map[string]bool{}}
	if len(paths) == 0 {
		return f, errors.New("name a file or a directory with -f (- is standard input)")
	}
	for _, path := range paths {
		if root, err := realPath(path); err == nil {
			f.roots = append(f.roots, root)
		}
	}
	for _, path := range paths {
		if err := f.argument(stdin, path); err != nil {
			return f, err
		}
	}
	return f, nil
}

// Named reports whether the user named the file with this fault. Otherwise it was found in a directory.
func (f *Files) Named(fault manifest.Fault) bool { return f.named[fault.File] }

func (f *Files) argument(stdin io.Reader, path string) error {
	if path == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		f.named["standard input"] = true
		f.add("standard input", data)
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		f.named[path] = true
		return f.file(path)
	}
	root := path + string(filepath.Separator) // follows the path if it is a link
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err == nil && e.IsDir():
			if f.again(path) {
				return fs.SkipDir
			}
			return nil
		case err == nil:
			err = f.entry(path, e)
		}
		if err != nil {
			var inPath *fs.PathError // The error below has the path already.
			if errors.As(err, &inPath) {
				err = inPath.Err
			}
			f.Faults = append(f.Faults, manifest.Fault{File: path, Err: err, Unread: true})
		}
		return nil
	})
}

func (f *Files) add(name string, content []byte) {
	f.Count++
	objects, faults := f.read(name, content)
	f.Objects, f.Faults = append(f.Objects, objects...), append(f.Faults, faults...)
}

func (f *Files) file(path string) error {
	if f.again(path) {
		return nil
	}
	data, err := readFile(path)
	if err == nil {
		f.add(path, data)
	}
	return err
}

// readFile returns the content of a file. It returns an error if the file is larger than maxFile.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxFile {
		return nil, errors.New(path + ": larger than 1 GiB")
	}
	return os.ReadFile(path)
}

// again records path, and reports whether it was recorded before. It returns false for a path that cannot be resolved, such
// as that of a pipe.
func (f *Files) again(path string) bool {
	at, err := realPath(path)
	if err != nil {
		return false
	}
	before := f.seen[at]
	f.seen[at] = true
	return before
}

func realPath(path string) (string, error) {
	at, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(at)
}

// entry reads a file in a directory, or the target of a symbolic link. It ignores links to directories below the named
// paths, which are read anyway. A link to any other place is an error: a directory that someone collected must not make
// oooi read other files of this host.
func (f *Files) entry(path string, e fs.DirEntry) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() && !slices.Contains([]string{".yaml", ".yml", ".json", ".jsonl", ".ndjson"}, strings.ToLower(filepath.Ext(path))) {
		return nil
	}
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := realPath(path)
		inside := func(root string) bool {
			below, err := filepath.Rel(root, target)
			return err == nil && filepath.IsLocal(below)
		}
		if err == nil && !slices.ContainsFunc(f.roots, inside) {
			err = fmt.Errorf("a link to %s, outside the directories that -f names. To read it, name it with -f", target)
		}
		if err != nil || info.IsDir() {
			return err
		}
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	return f.file(path)
}
