// Package image builds container images with one layer from files, without a registry or a container tool. It writes them as
// an OCI layout in a tar archive.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"github.com/cldmnky/oooi/test/testbed/host"
)

// An Image is a Linux image for the architecture of this host, with one layer.
type Image struct {
	Names      []string // with tags, for containerd; it also gets the name REPO@sha256:... for each
	Entrypoint []string
	User       string // "" means root
	Env        []string
	Labels     map[string]string
	Files      []File
}

// A File is one entry of an image. Only one of Source, Data and Link is set. Missing directories are created.
type File struct {
	Path   string // in the image, absolute
	Source string // a file on this host; symbolic links are followed, and the executable bit is kept
	Data   []byte // the content; the mode is 0644
	Link   string // the target of a symbolic link
}

// A Packed is an image in the form that registries and containerd store.
type Packed struct {
	Digest   string // of the manifest, "sha256:..."
	Manifest []byte // application/vnd.docker.distribution.manifest.v2+json
	Config   []byte // application/vnd.docker.container.image.v1+json
	Layer    Blob   // application/vnd.docker.image.rootfs.diff.tar

	image Image
}

// A Blob is the digest and the size of a layer.
type Blob struct {
	Digest string
	Size   int64
}

// The media types of manifests, configurations and layers.
const (
	ManifestType = "application/vnd.docker.distribution.manifest.v2+json"
	configType   = "application/vnd.docker.container.image.v1+json"
	layerType    = "application/vnd.docker.image.rootfs.diff.tar"
	indexType    = "application/vnd.oci.image.index.v1+json"
)

// Pack reads all files and computes the digests. Equal images have equal bytes.
func (i Image) Pack() (Packed, error) {
	sum, count := sha256.New(), new(counter)
	if err := i.writeLayer(io.MultiWriter(sum, count)); err != nil {
		return Packed{}, err
	}
	layer := Blob{Digest: fmt.Sprintf("sha256:%x", sum.Sum(nil)), Size: int64(*count)}
	config := encode(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config": map[string]any{
			"Entrypoint": i.Entrypoint,
			"User":       i.User,
			"Env":        append([]string{"PATH=/usr/local/bin:/usr/bin:/usr/sbin:/sbin:/bin"}, i.Env...),
			"Labels":     i.Labels,
		},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{layer.Digest}},
	})
	manifest := encode(map[string]any{
		"schemaVersion": 2,
		"mediaType":     ManifestType,
		"config":        map[string]any{"mediaType": configType, "digest": digest(config), "size": len(config)},
		"layers":        []any{map[string]any{"mediaType": layerType, "digest": layer.Digest, "size": layer.Size}},
	})
	return Packed{Digest: digest(manifest), Manifest: manifest, Config: config, Layer: layer, image: i}, nil
}

// WriteLayer writes the layer. The files must not have changed since Pack.
func (p Packed) WriteLayer(w io.Writer) error { return p.image.writeLayer(w) }

// Tar returns the path of an OCI tar archive with the image in the cache, and the digest of the image. It writes the archive if
// it does not exist.
func (i Image) Tar() (path, digest string, err error) {
	packed, err := i.Pack()
	if err != nil {
		return "", "", err
	}
	// The archive contains the names, but the digest does not depend on them.
	key := sha256.Sum256([]byte(packed.Digest + strings.Join(i.Names, " ")))
	path = filepath.Join(host.CacheDir(), "images", fmt.Sprintf("%x.tar", key[:8]))
	if _, err := os.Stat(path); err == nil {
		return path, packed.Digest, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", "", err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return "", "", err
	}
	defer os.Remove(temp.Name())
	if err := packed.writeTar(temp); err != nil {
		temp.Close()
		return "", "", err
	}
	if err := temp.Close(); err != nil {
		return "", "", err
	}
	return path, packed.Digest, os.Rename(temp.Name(), path)
}

// writeTar writes the OCI layout that containerd imports.
func (p Packed) writeTar(w io.Writer) error {
	var manifests []any
	for _, name := range p.image.Names {
		repo := name[:strings.LastIndexByte(name, ':')]
		for _, n := range []string{name, repo + "@" + p.Digest} {
			manifests = append(manifests, map[string]any{
				"mediaType": ManifestType, "digest": p.Digest, "size": len(p.Manifest),
				"platform":    map[string]any{"architecture": runtime.GOARCH, "os": "linux"},
				"annotations": map[string]any{"io.containerd.image.name": n},
			})
		}
	}
	t := tar.NewWriter(w)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		{"index.json", encode(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": manifests})},
		{blobPath(p.Digest), p.Manifest},
		{blobPath(digest(p.Config)), p.Config},
	} {
		if err := writeEntry(t, &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.data))}, bytes.NewReader(f.data)); err != nil {
			return err
		}
	}
	if err := t.WriteHeader(&tar.Header{Name: blobPath(p.Layer.Digest), Mode: 0o644, Size: p.Layer.Size}); err != nil {
		return err
	}
	if err := p.WriteLayer(t); err != nil {
		return err
	}
	return t.Close()
}

// writeLayer writes the files as a tar, in the order of their paths, without times.
func (i Image) writeLayer(w io.Writer) error {
	files := append([]File{{Path: "/etc/passwd", Data: []byte("root:x:0:0::/:/\nnonroot:x:65532:0::/:/\n")}}, i.Files...)
	sort.SliceStable(files, func(a, b int) bool { return files[a].Path < files[b].Path })
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return err
	}
	made := map[string]bool{"tmp": true}
	for _, f := range files {
		name := strings.TrimPrefix(path.Clean(f.Path), "/")
		if err := writeDirectories(t, path.Dir(name), made); err != nil {
			return err
		}
		if err := f.write(t, name); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return t.Close()
}

func writeDirectories(t *tar.Writer, dir string, made map[string]bool) error {
	if dir == "." || made[dir] {
		return nil
	}
	if err := writeDirectories(t, path.Dir(dir), made); err != nil {
		return err
	}
	made[dir] = true
	return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
}

func (f File) write(t *tar.Writer, name string) error {
	switch {
	case f.Link != "":
		return t.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: f.Link, Mode: 0o777})
	case f.Source == "":
		return writeEntry(t, &tar.Header{Name: name, Mode: 0o644, Size: int64(len(f.Data))}, bytes.NewReader(f.Data))
	}
	file, err := os.Open(f.Source)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return writeEntry(t, &tar.Header{Name: name, Mode: mode, Size: info.Size()}, file)
}

func writeEntry(t *tar.Writer, h *tar.Header, content io.Reader) error {
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := io.Copy(t, content)
	return err
}

func blobPath(digest string) string {
	return "blobs/sha256/" + strings.TrimPrefix(digest, "sha256:")
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// encode returns v as JSON. v must be a value that encoding/json can encode.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

// A counter counts the bytes that are written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
