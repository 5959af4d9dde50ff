// The images of a cluster: which there are, and what is in them.

package testbed

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	released "github.com/cldmnky/oooi/config/release/program"
	"github.com/cldmnky/oooi/network/ntp"
)

// The images that [Cluster.LoadImages] makes of this project, and the base's.
const (
	OooiImage     = "localhost/oooi:dev"
	EdgeImage     = "localhost/oooi-edge:dev"
	APIProxyImage = "localhost/oooi-apiproxy:dev"
	EnvoyImage    = "localhost/envoy:dev"
	pauseImage    = "localhost/pause:1"
	BusyboxImage  = "localhost/busybox:1" // Debian's static one
	corednsImage  = "localhost/coredns:1"
)

// LoadImages builds the images of those names ("oooi" is [OooiImage], "oooi-edge"
// [EdgeImage], "oooi-apiproxy" [APIProxyImage], "envoy" [EnvoyImage],
// "busybox" [BusyboxImage]) and imports those that a node does not have as they are.
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

// LoadImage packs an image and imports it into every node that does not have it under
// its names.
func (c *Cluster) LoadImage(ctx context.Context, image Image) error {
	if _, _, err := image.Tar(); err != nil { // packed once, for all
		return err
	}
	return c.onNodes(ctx, func(ctx context.Context, n Node) error { return n.Runtime.Load(ctx, image) })
}

// An Archive is an image as a file that containerd imports.
type Archive struct {
	Path   string
	Names  []string // under which it is imported
	Digest string   // of what the names name
}

// LoadArchive imports an image into every node that does not have it under its names.
func (c *Cluster) LoadArchive(ctx context.Context, a Archive) error {
	return c.onNodes(ctx, func(ctx context.Context, n Node) error { return n.Runtime.load(ctx, a) })
}

// Load packs an image and imports it, unless the runtime has it under its names.
func (r Runtime) Load(ctx context.Context, image Image) error {
	tar, digest, err := image.Tar()
	if err != nil {
		return err
	}
	return r.load(ctx, Archive{Path: tar, Names: image.Names, Digest: digest})
}

func (r Runtime) load(ctx context.Context, a Archive) error {
	listing, err := output(r.ctr(ctx, "images", "list"))
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

// TagImage gives an image that all nodes have another name.
func (c *Cluster) TagImage(ctx context.Context, from, to string) error {
	return c.onNodes(ctx, func(ctx context.Context, n Node) error {
		_, err := output(n.Runtime.ctr(ctx, "images", "tag", "--force", from, to))
		return err
	})
}

// hasAll says whether every name is in ctr's listing with that digest.
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

// image is one of those this package knows, its programs built.
func (c *Cluster) image(ctx context.Context, name string) (Image, error) {
	switch name {
	case "pause":
		return Image{
			Names: []string{pauseImage}, Entrypoint: []string{"/pause"}, User: "65535",
			Files: []File{{Path: "/pause", Source: c.Bin("pause")}},
		}, nil
	case "coredns":
		return Image{
			Names: []string{corednsImage}, Entrypoint: []string{"/usr/bin/coredns"}, User: "65532",
			Files: []File{{Path: "/usr/bin/coredns", Source: c.Bin("coredns")}},
		}, nil
	case "busybox":
		if err := EnsurePackages(ctx, io.Discard, "busybox-static"); err != nil {
			return Image{}, err
		}
		path, err := exec.LookPath("busybox")
		return Image{
			Names: []string{BusyboxImage}, Entrypoint: []string{"/bin/busybox"}, User: "65532",
			Files: []File{{Path: "/bin/busybox", Source: path}, {Path: "/bin/sh", Link: "busybox"}, {Path: "/bin/tar", Link: "busybox"}},
		}, err
	case "oooi", "oooi-edge", "oooi-apiproxy":
		if name == "oooi-edge" && PlaysClock() {
			c.say("the clock of this machine is not synchronized: edges play one that is (build tag %s)", playedClock)
		}
		return programImage(ctx, name)
	case "envoy":
		return c.EnvoyImage(ctx)
	}
	return Image{}, fmt.Errorf("no such image: want oooi, oooi-edge, oooi-apiproxy, envoy or busybox, not %q", name)
}

// EnvoyImage is an image of the Envoy that the tests run, named [EnvoyImage].
func (c *Cluster) EnvoyImage(ctx context.Context) (Image, error) { return envoyImage(ctx, c.say) }

// programImage is one of this project's programs.
func programImage(ctx context.Context, program string) (Image, error) {
	binary, err := ProjectProgram(ctx, program, "")
	return Image{
		Names:      []string{map[string]string{"oooi": OooiImage, "oooi-edge": EdgeImage, "oooi-apiproxy": APIProxyImage}[program]},
		Entrypoint: []string{"/usr/bin/" + program}, User: "65532",
		Files: []File{{Path: "/usr/bin/" + program, Source: binary}},
	}, err
}

// ProjectProgram compiles one of this project's programs as `make build` does, by Go's own cache each time, and returns its path.
// The program says that it is of that version; "" means that it is of none. Where the clock of this machine is not
// synchronized, edges are compiled with one that plays it: they tell no time otherwise.
func ProjectProgram(ctx context.Context, program, version string) (string, error) {
	root, err := ProjectDir()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(cacheDir(), "oooi", version, program)
	if version != "" {
		version = "v" + version
	}
	return binary, own(root, program, PlaysClock()).Compile(ctx, released.Host(), version, binary)
}

// playedClock is the build tag of edges whose clock counts as synchronized. No release has it.
const playedClock = "oooi_played_clock"

// PlaysClock reports whether edges on this machine play a synchronized clock: the kernel says that its own is not.
func PlaysClock() bool {
	state, err := ntp.Kernel()
	return err != nil || !state.Synchronized
}

// own is one of this project's programs as it is released, but for the clock of edges.
func own(root, name string, playsClock bool) released.Program {
	p := released.Own(root, "./cmd/"+name)
	if playsClock && name == "oooi-edge" {
		p.Tags += " " + playedClock
	}
	return p
}
