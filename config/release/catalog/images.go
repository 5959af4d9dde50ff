// This file decides the content of the images of a bundle and of a catalog. They contain no programs, so each architecture
// has the same files.

package catalog

import "github.com/cldmnky/oooi/config/release/image"

// Image returns the image of the bundle for arches, such as "amd64". It has the labels and annotations of d, and the labels
// of the bundle.
func (b Bundle) Image(d image.Description, arches ...string) (image.Multi, error) {
	files := image.Files{}
	for name, text := range b.Files {
		files[name] = image.File{Data: text}
	}
	d.Labels = b.Labels
	return data(d, files, arches)
}

// Image returns the image of a catalog for arches. name is the package, and text the catalog. The image contains no
// program. It is for a CatalogSource with extractContent and for OLM v1, which serve the catalog with programs of their
// own.
func Image(d image.Description, name string, text []byte, arches ...string) (image.Multi, error) {
	d.Labels = map[string]string{"operators.operatorframework.io.index.configs.v1": "/configs"}
	return data(d, image.Files{"configs/" + name + "/catalog.yaml": {Data: text}}, arches)
}

func data(d image.Description, files image.Files, arches []string) (image.Multi, error) {
	var variants []image.Variant
	for _, a := range arches {
		variants = append(variants, image.Variant{Arch: a, Layers: []image.Files{files}})
	}
	return image.Build(d, variants)
}
