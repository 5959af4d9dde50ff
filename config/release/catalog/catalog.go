// This file decides the content of the catalog, and of the operator's directory in OpenShift's community catalog. The
// program opm (operator-registry) renders and validates the catalog.

package catalog

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// template is the file name of the catalog's template. opm calls its format a basic template.
const template = "basic.yaml"

// ci is the configuration of the community catalog's pipeline for the operator.
//
//go:embed ci.yaml
var ci []byte

// An object is an entry of a catalog or of its template.
type object map[string]any

// head returns the entries of the package and its channel. If listed is true, the channel contains this bundle.
func (b Bundle) head(listed bool) []object {
	entries := []object{}
	if listed {
		entry := b.upgrades()
		entry["name"] = b.versionName(b.Version)
		entries = append(entries, entry)
	}
	return []object{
		{"schema": "olm.package", "name": b.Name, "defaultChannel": b.Channel, "description": b.Description, "icon": b.Icon},
		{"schema": "olm.channel", "package": b.Name, "name": b.Channel, "entries": entries},
	}
}

// upgrades returns the fields of a channel entry that say which versions this one upgrades. The Operator Lifecycle Manager
// upgrades them directly to this version, even if the catalog does not contain them.
func (b Bundle) upgrades() object {
	if b.Replaces == "" {
		return object{}
	}
	return object{"replaces": b.versionName(b.Replaces), "skipRange": "<" + b.Version}
}

// Opm is the path of the program opm.
type Opm string

// A Published is a bundle, and the reference to its image.
type Published struct {
	Bundle
	Ref string
}

// Catalog returns a catalog that contains only this bundle. opm has validated it.
func (o Opm) Catalog(ctx context.Context, p Published) ([]byte, error) {
	dir, err := os.MkdirTemp("", "catalog-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := p.Files.WriteTo(filepath.Join(dir, p.Version)); err != nil {
		return nil, err
	}
	rendered, err := o.run(ctx, dir, "render", p.Version, "-o", "yaml", "--migrate-level", "bundle-object-to-csv-metadata", "--alpha-image-ref-template", p.Ref)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, entry := range p.head(true) {
		text, err := yaml.Marshal(entry)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n" + string(text))
	}
	out.Write(rendered)
	if err := (Files{p.Name + "/catalog.yaml": out.Bytes()}).WriteTo(filepath.Join(dir, "catalog")); err != nil {
		return nil, err
	}
	_, err = o.run(ctx, dir, "validate", "catalog")
	return out.Bytes(), err
}

func (o Opm) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, string(o), args...)
	var complaint bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &complaint
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("opm %s: %w: %s", args[0], err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}

// Community returns the files that a pull request adds to a fork of community-operators-prod, OpenShift's community catalog,
// by paths below its root. Only the first version contains ci.yaml and the template, to which the pipeline adds later versions.
func (b Bundle) Community() (Files, error) {
	dir := "operators/" + b.Name + "/"
	out := Files{}
	for name, text := range b.Files {
		out[dir+b.Version+"/"+name] = text
	}
	config := object{"template_name": template, "channels": []string{b.Channel}}
	maps.Copy(config, b.upgrades())
	var err error
	if out[dir+b.Version+"/release-config.yaml"], err = yaml.Marshal(object{"catalog_templates": []object{config}}); err != nil || b.Replaces != "" {
		return out, err
	}
	// The template has no bundle: the pipeline adds its own.
	out[dir+"catalog-templates/"+template], err = yaml.Marshal(object{"schema": "olm.template.basic", "entries": b.head(false)})
	if err != nil {
		return nil, err
	}
	out[dir+"ci.yaml"] = ci
	return out, nil
}

// WriteTo writes the files below dir, and creates directories.
func (f Files) WriteTo(dir string) error {
	for name, text := range f {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
