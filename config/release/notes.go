// This file writes the notes of a release, and the table of what is published where.

package main

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"
)

// section returns the text of a version's section in changelog, and the rest of changelog after it. The heading of a section
// begins with the version.
func section(changelog, version string) (text, rest string, found bool) {
	for part := changelog; ; {
		var any bool
		if _, part, any = strings.Cut(part, "\n## "); !any {
			return "", "", false
		}
		heading, body, _ := strings.Cut(part, "\n")
		if name, _, _ := strings.Cut(heading, " "); name == version {
			text, rest, _ = strings.Cut("\n"+body, "\n## ")
			return text, rest, true
		}
	}
}

// before returns the version that was released before parameter version, such as "v0.1.0". Empty: changelog contains
// no earlier version.
func before(changelog, version string) string {
	_, rest, _ := section(changelog, version)
	heading, _, _ := strings.Cut(rest, "\n")
	name, _, _ := strings.Cut(heading, " ")
	return name
}

// notes returns the text of the release's page: the changes in this version, how to install it, and the digests of its
// images. goVersion is the version of Go that compiled the programs, such as "1.26.8".
func (r *release) notes(changelog, goVersion string) ([]byte, error) {
	changes, _, found := section(changelog, r.version)
	if !found {
		return nil, fmt.Errorf("CHANGELOG.md has no section %s", r.version)
	}
	// Links in CHANGELOG.md are relative to the root of the repository. They would not work on the release's page.
	changes = strings.ReplaceAll(changes, "](docs/", "]("+repository+"/blob/"+r.version+"/docs/")
	page := repository + "/releases/download/" + r.version + "/"
	if r.registry != namespace {
		page = assets
	}
	return fill("notes.tmpl", map[string]any{
		"build": r.build, "version": r.version, "tag": r.tag(), "go": goVersion, "changes": strings.TrimSpace(changes), "page": page, "images": r.images,
	})
}

//go:embed *.tmpl
var templates embed.FS

func fill(name string, values map[string]any) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").ParseFS(templates, name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, values)
	return out.Bytes(), err
}

// table writes what is published, where, and its size. The size of an image is that for one platform.
func (r *release) table(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "oooi %s\n", r.build)
	fmt.Fprintln(out, "WHAT\tWHERE\tSIZE")
	for _, p := range r.images {
		list, err := p.Index.IndexManifest()
		if err != nil {
			return err
		}
		for _, d := range list.Manifests {
			size, err := p.size(d.Digest)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "image %s, %s\t%s\t%s\n", p.name, d.Platform.Architecture, p.Repository+":"+r.tag(), megabytes(size))
		}
	}
	page := "page of the release " + r.version
	if r.registry != namespace {
		page = releaseDir[len(root)+1:] + "/" + assets
	}
	places := map[string]string{assets: page, community: "pull request to community-operators-prod"}
	groups := map[string]int64{}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		dir, _, _ := strings.Cut(name, "/")
		switch place := places[dir+"/"]; {
		case dir+"/" == assets:
			fmt.Fprintf(out, "file %s\t%s\t%s\n", strings.TrimPrefix(name, assets), place, megabytes(int64(len(r.files[name]))))
		case place != "":
			groups[place] += int64(len(r.files[name]))
		}
	}
	for place, size := range groups {
		fmt.Fprintf(out, "directory operators/\t%s\t%s\n", place, megabytes(size))
	}
	return out.Flush()
}

func megabytes(size int64) string {
	if size < 100_000 {
		return fmt.Sprintf("%.1f kB", float64(size)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(size)/1e6)
}
