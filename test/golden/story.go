// This file reads stories and their golden files as wholes, whether they are
// stored whole or as differences to the base story.

package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	objectsFile = "objects.yaml"
	patchFile   = "patch.yaml"
	// differenceSuffix follows the name of a golden file that is stored as a
	// difference.
	differenceSuffix = ".diff"
	// first is the story whose files are all stored whole.
	first = "lb-ip"
)

// A Story is one folder of test/scenarios: the same world as each package of
// the chain sees it.
type Story struct {
	Name, Dir string
	// base is the story that this one's files are compared with; nil for the first.
	base *Story
	// top is the text of objects.yaml, or of patch.yaml where the world is patched
	// onto base's.
	top     []byte
	patched bool
}

// All are the stories below the module's root, each after its base, else by
// name. A base that is not a story, and no story at all, are errors.
func All(root string) ([]Story, error) {
	folder := filepath.Join(root, "test", "scenarios")
	dirs, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var out, left []Story
	for _, d := range dirs {
		if !d.IsDir() {
			continue
		}
		s, err := open(filepath.Join(folder, d.Name()))
		switch {
		case err != nil:
			return nil, err
		case s.top != nil && s.Name == first:
			out = append(out, s)
		case s.top != nil:
			left = append(left, s)
		}
	}
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(s Story) bool { return index(out, s.baseName()) >= 0 })
		if i < 0 {
			return nil, fmt.Errorf("story %s is patched onto %q, which is no story, or is patched onto it", left[0].Name, left[0].baseName())
		}
		base := out[index(out, left[i].baseName())]
		left[i].base = &base
		out, left = append(out, left[i]), slices.Delete(left, i, i+1)
	}
	return out, nil
}

// open reads the story in a folder; its top is nil where that holds none.
func open(dir string) (Story, error) {
	s := Story{Name: filepath.Base(dir), Dir: dir}
	var err error
	if s.top, err = optional(filepath.Join(dir, patchFile)); s.top != nil || err != nil {
		s.patched = true
		return s, err
	}
	s.top, err = optional(filepath.Join(dir, objectsFile))
	return s, err
}

// baseName is what the patch says, or the first story.
func (s Story) baseName() string {
	if s.patched {
		return baseOf(s.top)
	}
	return first
}

func index(stories []Story, name string) int {
	return slices.IndexFunc(stories, func(s Story) bool { return s.Name == name })
}

// Base is the story that this one's world is patched onto. Empty: its
// objects.yaml is whole.
func (s Story) Base() string {
	if s.patched {
		return s.base.Name
	}
	return ""
}

// Shows is what the story shows: the comment at the top of its world, in one line.
func (s Story) Shows() string {
	var words []string
	for line := range strings.Lines(string(s.top)) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.TrimSpace(comment))
	}
	return strings.Join(words, " ")
}

// Whole is a file of the story from its first byte to its last. Nil: the story
// ends before that step.
func (s Story) Whole(name string) ([]byte, error) {
	if name == objectsFile && s.patched {
		base, err := s.base.Whole(objectsFile)
		if err != nil {
			return nil, err
		}
		text, err := patched(base, s.top)
		return text, s.wrap(name, err)
	}
	d, err := optional(filepath.Join(s.Dir, name+differenceSuffix))
	if err != nil || d == nil || s.base == nil {
		whole, err2 := optional(filepath.Join(s.Dir, name))
		return whole, errors.Join(err, err2)
	}
	base, err := s.base.Whole(name)
	if err != nil {
		return nil, err
	}
	whole, err := apply(base, d)
	return whole, s.wrap(name+differenceSuffix, err)
}

func (s Story) wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("story %s: %s: %w", s.Name, name, err)
}

// difference returns got, the story's file of that name, as its differences to the same file of the base.
// Nil where got is to be stored whole: what a user reads, and what has more
// differences than lines.
func (s Story) difference(name string, got []byte) ([]byte, error) {
	if s.base == nil || got == nil || slices.Contains([]string{"plan.txt", "condition.txt"}, name) {
		return nil, nil
	}
	base, err := s.base.Whole(name)
	if err != nil || base == nil {
		return nil, err
	}
	d := difference(s.base.Name, name, base, got)
	if bytes.Count(d, []byte("\n")) >= bytes.Count(got, []byte("\n")) {
		return nil, nil
	}
	again, err := apply(base, d)
	if err == nil && !bytes.Equal(again, got) {
		err = errors.New("the difference does not give the whole")
	}
	return d, s.wrap(name, err)
}

// optional is nil where there is no file.
func optional(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}
