// The images of a cluster: which there are, and what is in them.

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The images that [Cluster.LoadImages] makes of this project, and the base's.
const (
	OooiImage    = "localhost/oooi:dev"
	EnvoyImage   = "localhost/envoy:dev"
	pauseImage   = "localhost/pause:1"
	corednsImage = "localhost/coredns:1"
)

// LoadImages builds the images of those names ("oooi" is [OooiImage], "envoy" is
// [EnvoyImage]) and imports those that a node does not have as they are.
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

// Load packs an image and imports it, unless the runtime has it under its names.
func (r Runtime) Load(ctx context.Context, image Image) error {
	tar, digest, err := image.Tar()
	if err != nil {
		return err
	}
	listing, err := output(r.ctr(ctx, "images", "list"))
	if err != nil {
		return err
	}
	if hasAll(string(listing), image.Names, digest) {
		return nil
	}
	start := time.Now()
	if err := r.Import(ctx, tar); err != nil {
		return err
	}
	r.cluster.say("%s imported in %.1fs", strings.Join(image.Names, ", "), time.Since(start).Seconds())
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
	case "oooi":
		return oooiImage(ctx)
	case "envoy":
		return envoyImage(ctx, c.say)
	}
	return Image{}, errors.New("no such image: want oooi or envoy")
}

// oooiImage is this project's one program, built by Go's own cache each time.
func oooiImage(ctx context.Context) (Image, error) {
	root, err := ProjectDir()
	if err != nil {
		return Image{}, err
	}
	binary := filepath.Join(cacheDir(), "oooi", "oooi")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/oooi")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN=local")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Image{}, fmt.Errorf("%w\n%s", err, out)
	}
	return Image{
		Names: []string{OooiImage}, Entrypoint: []string{"/usr/bin/oooi"}, User: "65532",
		Files: []File{{Path: "/usr/bin/oooi", Source: binary}},
	}, nil
}
