// This file compares lines of code and of manifests.

package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A tree contains the files of one version: their content by path.
type tree map[string]string

var (
	notRead = regexp.MustCompile(`^(test|contrib|docs|hack|examples|client|cmd/(fix|oadp|infra))/|_test\.go$|testdata|fake|mock|` +
		`aws|azure|gcp|powervs|ibmcloud|openstack|karpenter|cluster-api-provider|etcd|auditlog`) // tests, other platforms, and what VMs do not notice
	isRead = regexp.MustCompile(`\.go$|/(?:route|service)\.yaml$|/zz_generated\.crd-manifests/.*Default\.crd\.yaml$`)
)

func readTree(dir string) (tree, error) {
	t := tree{}
	return t, filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(dir, file)
		if err != nil || relErr != nil || d.IsDir() || notRead.MatchString(name) || !isRead.MatchString(name) {
			return err
		}
		text, err := os.ReadFile(file)
		t[name] = string(text)
		return err
	})
}

// A group is a kind of text that oooi depends on, such as names of images. Its regular expressions find the files that contain
// such texts, and the texts in a line.
type group struct {
	title       string
	files, text *regexp.Regexp // files matches a path and the content after it
	placed      bool           // equal texts in two functions count as two
}

func groups(names *regexp.Regexp) []group {
	all := regexp.MustCompile(``)
	return []group{
		{"annotations and labels", all, regexp.MustCompile(`"(?:[a-z0-9-]+\.)*hypershift\.openshift\.io/[^"%]+"|hyperv1\.\w+(?:Annotation|Label)\b`), false},
		{"images, by name, by variable and by part of the payload", all, regexp.MustCompile(
			`"(?:quay\.io|registry\.[a-z0-9.-]+)/[^"]+"|"IMAGE_[A-Z_]+"|(?:GetImage|ComponentImages(?:\(\))?)[(\[]"[a-z0-9-]+"|hyperv1\.\w*Image\w*`), false},
		{"ports", all, regexp.MustCompile(`\b\w*Port\w*\s*(?:u?int(?:16|32)?\s*)?:?=\s*\d+`), false},
		{"NetworkPolicies", regexp.MustCompile(`^\S*network_?polic`), regexp.MustCompile(`.*(?:"|CIDR|Port|Selector|networkpolicy\.|hyperv1\.).*`), true},
		{"manifests of Services and Routes", regexp.MustCompile(`(?m)^kind: (Service|Route)$`), regexp.MustCompile(`.*`), true},
		{"lines that name what oooi reads", regexp.MustCompile(`^\S+\.go\n`), regexp.MustCompile(`.*(?:` + names.String() + `).*`), true},
	}
}

// An entry is a text in a function or a manifest, and its first position. sign is "-" for the old version and "+" for the new.
type entry struct {
	sign, in, text, file string
	line                 int
}

var function = regexp.MustCompile(`^func (?:\([^)]*\) )?(\w+)`)

// entries returns the texts of g in a version. It ignores comments and imports.
func (g group) entries(sign string, t tree) map[string]entry {
	out := map[string]entry{}
	for _, file := range slices.Sorted(maps.Keys(t)) {
		if !g.files.MatchString(file + "\n" + t[file]) {
			continue
		}
		in := path.Base(path.Dir(file)) + "/" + path.Base(file)
		for i, line := range strings.Split(t[file], "\n") {
			if f := function.FindStringSubmatch(line); f != nil {
				in = f[1]
			}
			for _, text := range g.text.FindAllString(code(line), -1) {
				key := text
				if g.placed {
					key = in + ": " + text
				}
				if _, ok := out[key]; !ok && text != "" {
					out[key] = entry{sign, in, text, file, i + 1}
				}
			}
		}
	}
	return out
}

// compared returns lines about the entries that only one version has. A function that moved to another file is still the same.
func (g group) compared(before, after tree) (lines []string) {
	old, now := g.entries("-", before), g.entries("+", after)
	var all []entry
	for key := range old {
		if now[key].sign == "" {
			all = append(all, old[key])
		}
	}
	for key := range now {
		if old[key].sign == "" {
			all = append(all, now[key])
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.in, b.in), -cmp.Compare(a.sign, b.sign), cmp.Compare(a.file, b.file), a.line-b.line)
	})
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s %s:%d %s: %s", e.sign, e.file, e.line, e.in, e.text))
	}
	return lines
}

var comment, imported = regexp.MustCompile(`(^|\s)//.*`), regexp.MustCompile(`^(\w+ )?"[^"]+"$`)

// code returns a line without surrounding space and without a comment. For an import, it returns an empty string.
func code(line string) string {
	return imported.ReplaceAllString(strings.TrimSpace(comment.ReplaceAllString(line, "")), "")
}
