// This file fills in the templates of the bundle, and of the sample for OLM v1.

package main

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/hcp/settings"
)

//go:embed *.tmpl icon.svg all:constant
var sources embed.FS

// extensionFile is the path of the sample for OLM v1, relative to the root of the project.
const extensionFile = "config/samples/clusterextension.yaml"

// generate returns the content of each generated file by its path, relative to root.
func generate(root string) (map[string][]byte, error) {
	in, err := read(filepath.Join(root, "config", "olm"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, source := range map[string]string{
		"bundle/manifests/oooi.clusterserviceversion.yaml": "clusterserviceversion.tmpl", extensionFile: "clusterextension.tmpl",
	} {
		if files[name], err = fill(source, in); err != nil {
			return nil, err
		}
	}
	for _, role := range in.Shipped {
		files["bundle/manifests/"+role.Name+".clusterrole.yaml"] = marshal(role)
	}
	for _, b := range in.Budgets {
		b.Namespace = ""
		files["bundle/manifests/"+b.Name+".poddisruptionbudget.yaml"] = marshal(b)
	}
	return files, fs.WalkDir(sources, "constant", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files["bundle"+strings.TrimPrefix(path, "constant")], err = sources.ReadFile(path)
		return err
	})
}

// Icon returns the icon, an SVG, in base64.
func (installation) Icon() (string, error) {
	icon, err := sources.ReadFile("icon.svg")
	return base64.StdEncoding.EncodeToString(icon), err
}

// Prefix returns the prefix of the annotations' keys.
func (installation) Prefix() string { return settings.Prefix }

// Keys returns the annotations with these names. If a name is unknown, it returns an error.
func (installation) Keys(names ...string) (out []settings.Key, err error) {
	all := settings.Keys()
	for _, name := range names {
		i := slices.IndexFunc(all, func(k settings.Key) bool { return k.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no annotation %s", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// Documentation returns the URL of the index page of this version's documentation.
func (in installation) Documentation() string {
	return "https://github.com/cldmnky/oooi/blob/v" + in.Version() + "/docs/index.md"
}

// fill executes the template with this name, and returns the objects in the result as normalized YAML. If there are several
// objects, it keeps the comment before the first.
func fill(name string, in installation) ([]byte, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"json": func(v any) (string, error) {
		text, err := yaml.YAMLToJSON(marshal(v))
		return string(text), err
	}}).ParseFS(sources, name)
	if err != nil {
		return nil, err
	}
	var text, out bytes.Buffer
	if err := t.Execute(&text, in); err != nil {
		return nil, err
	}
	head, objects, several := strings.Cut(text.String(), "\n---\n")
	if !several {
		head, objects = "", text.String()
	} else {
		out.WriteString(head + "\n")
	}
	for object := range strings.SplitSeq(objects, "\n---\n") {
		tree, err := yaml.YAMLToJSON([]byte(object))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if several {
			out.WriteString("---\n")
		}
		out.Write(marshal(json.RawMessage(tree)))
	}
	return out.Bytes(), nil
}

// marshal returns v as YAML, without its status.
func marshal(v any) []byte {
	text, err := json.Marshal(v)
	var tree any
	if err == nil {
		err = json.Unmarshal(text, &tree)
	}
	if m, ok := tree.(map[string]any); ok {
		// Typed objects have a status, which a manifest must not have.
		delete(m, "status")
	}
	var out []byte
	if err == nil {
		out, err = yaml.Marshal(tree)
	}
	if err != nil {
		panic("bundle: what we build is always YAML: " + err.Error())
	}
	return out
}
