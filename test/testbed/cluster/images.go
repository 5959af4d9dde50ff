// This file has the images of a cluster and their content.

package cluster

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/cldmnky/oooi/test/testbed/build"
	"github.com/cldmnky/oooi/test/testbed/containerd"
	"github.com/cldmnky/oooi/test/testbed/host"
	"github.com/cldmnky/oooi/test/testbed/image"
)

// The names of the images that [Cluster.LoadImages] builds.
const (
	OooiImage     = "localhost/oooi:dev"
	EdgeImage     = "localhost/oooi-edge:dev"
	APIProxyImage = "localhost/oooi-apiproxy:dev"
	EnvoyImage    = "localhost/envoy:dev"
	BusyboxImage  = "localhost/busybox:1" // Debian's static one
	corednsImage  = "localhost/coredns:1"
)

// LoadImages builds images, and imports them into the nodes that do not have them. names are "oooi" for [OooiImage],
// "oooi-edge" for [EdgeImage], "oooi-apiproxy" for [APIProxyImage], "envoy" for [EnvoyImage], and "busybox" for
// [BusyboxImage].
func (c *Cluster) LoadImages(ctx context.Context, names ...string) error {
	for _, name := range names {
		image, err := c.image(ctx, name)
		if err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		if err := c.LoadImage(ctx, image); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
	}
	return nil
}

// LoadImage packs an image, and imports it into the nodes that do not have it with its names.
func (c *Cluster) LoadImage(ctx context.Context, image image.Image) error {
	if _, _, err := image.Tar(); err != nil { // Pack the image once, before all nodes need it.
		return err
	}
	return c.onNodes(ctx, func(ctx context.Context, n Node) error { return n.Runtime.Load(ctx, image) })
}

// An Archive is a file with an image that containerd can import.
type Archive struct {
	Path   string
	Names  []string // that the image gets
	Digest string   // of the image
}

// LoadArchive imports an image into the nodes that do not have it with its names.
func (c *Cluster) LoadArchive(ctx context.Context, a Archive) error {
	return c.onNodes(ctx, func(ctx context.Context, n Node) error { return n.Runtime.load(ctx, a) })
}

// Load packs an image, and imports it unless the runtime has it with its names.
func (r Runtime) Load(ctx context.Context, image image.Image) error {
	tar, digest, err := image.Tar()
	if err != nil {
		return err
	}
	return r.load(ctx, Archive{Path: tar, Names: image.Names, Digest: digest})
}

func (r Runtime) load(ctx context.Context, a Archive) error {
	listing, err := host.Output(r.ctr(ctx, "images", "list"))
	if err != nil {
		return err
	}
	if hasAll(string(listing), a.Names, a.Digest) {
		return nil
	}
	start := time.Now()
	if err := r.Import(ctx, a.Path); err != nil {
		return err
	}
	r.cluster.say("%s imported in %.1fs", strings.Join(a.Names, ", "), time.Since(start).Seconds())
	return nil
}

// TagImage adds the name to to the image from, which all nodes must have.
func (c *Cluster) TagImage(ctx context.Context, from, to string) error {
	return c.onNodes(ctx, func(ctx context.Context, n Node) error {
		_, err := host.Output(n.Runtime.ctr(ctx, "images", "tag", "--force", from, to))
		return err
	})
}

// hasAll reports whether listing, the output of ctr, contains all names with this digest.
func hasAll(listing string, names []string, digest string) bool {
	has := map[string]bool{}
	for _, line := range strings.Split(listing, "\n") {
		if fields := strings.Fields(line); len(fields) > 2 {
			has[fields[0]] = fields[2] == digest
		}
	}
	for _, n := range names {
		if !has[n] {
			return false
		}
	}
	return true
}

// image returns the image with this name, and builds its programs.
func (c *Cluster) image(ctx context.Context, name string) (image.Image, error) {
	switch name {
	case "pause":
		return image.Image{
			Names: []string{containerd.PauseImage}, Entrypoint: []string{"/pause"}, User: "65535",
			Files: []image.File{{Path: "/pause", Source: c.Bin("pause")}},
		}, nil
	case "coredns":
		return image.Image{
			Names: []string{corednsImage}, Entrypoint: []string{"/usr/bin/coredns"}, User: "65532",
			Files: []image.File{{Path: "/usr/bin/coredns", Source: c.Bin("coredns")}},
		}, nil
	case "busybox":
		if err := host.EnsurePackages(ctx, io.Discard, "busybox-static"); err != nil {
			return image.Image{}, err
		}
		path, err := exec.LookPath("busybox")
		return image.Image{
			Names: []string{BusyboxImage}, Entrypoint: []string{"/bin/busybox"}, User: "65532",
			Files: []image.File{{Path: "/bin/busybox", Source: path}, {Path: "/bin/sh", Link: "busybox"}, {Path: "/bin/tar", Link: "busybox"}},
		}, err
	case "oooi", "oooi-edge", "oooi-apiproxy":
		if name == "oooi-edge" && build.PlaysClock() {
			c.say("the clock of this machine is not synchronized: edges play one that is (build tag %s)", build.PlayedClock)
		}
		return programImage(ctx, name)
	case "envoy":
		return c.EnvoyImage(ctx)
	}
	return image.Image{}, fmt.Errorf("no such image: want oooi, oooi-edge, oooi-apiproxy, envoy or busybox, not %q", name)
}

// EnvoyImage returns an image with the Envoy that the tests run. Its name is [EnvoyImage].
func (c *Cluster) EnvoyImage(ctx context.Context) (image.Image, error) {
	program, err := build.Envoy(ctx, c.log)
	if err != nil {
		return image.Image{}, err
	}
	libraries, err := image.Libraries(ctx, program)
	if err != nil {
		return image.Image{}, err
	}
	return image.Image{
		Names: []string{EnvoyImage}, Entrypoint: []string{"/usr/local/bin/envoy"}, User: "65532",
		Files: append(libraries, image.File{Path: "/usr/local/bin/envoy", Source: program}),
	}, nil
}

// programImage returns an image with one of the project's programs.
func programImage(ctx context.Context, program string) (image.Image, error) {
	binary, err := build.ProjectProgram(ctx, program, "")
	return image.Image{
		Names:      []string{map[string]string{"oooi": OooiImage, "oooi-edge": EdgeImage, "oooi-apiproxy": APIProxyImage}[program]},
		Entrypoint: []string{"/usr/bin/" + program}, User: "65532",
		Files: []image.File{{Path: "/usr/bin/" + program, Source: binary}},
	}, err
}
