// This file builds the images that a node has before it joins, because it pulls none: the sandbox, and the konnectivity agent of the
// release.

package worker

import (
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/containerd"
	"github.com/cldmnky/oooi/test/testbed/image"
	"github.com/cldmnky/oooi/test/testbed/ocp"
)

// Images returns the paths of tar archives with the images for nodes of hosted clusters on c. The image of the konnectivity agent has
// the name of the release's payload, but contains only what DaemonSets of HyperShift start on a node.
func Images(c *cluster.Cluster) ([]string, error) {
	var tars []string
	for _, image := range []image.Image{
		{Names: []string{containerd.PauseImage}, Entrypoint: []string{"/pause"}, User: "65535",
			Files: []image.File{{Path: "/pause", Source: c.Bin("pause")}}},
		{Names: []string{ocp.PayloadImage}, Entrypoint: []string{"/usr/bin/proxy-agent"},
			Files: []image.File{{Path: "/usr/bin/proxy-agent", Source: c.Bin("proxy-agent")}}},
	} {
		tar, _, err := image.Tar()
		if err != nil {
			return nil, err
		}
		tars = append(tars, tar)
	}
	return tars, nil
}
