// This file decides which images a node has before it joins, since it pulls none:
// the sandbox and the release's konnectivity agent. It packs programs that are
// built already.

package worker

import (
	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/containerd"
	"github.com/cldmnky/oooi/test/testbed/hypershift"
	"github.com/cldmnky/oooi/test/testbed/image"
)

// Images are the tars that a node of a hosted cluster of c is given. The agent's
// has the name of the release's payload, and of it only what a DaemonSet of
// HyperShift starts on a node.
func Images(c *cluster.Cluster) ([]string, error) {
	var tars []string
	for _, image := range []image.Image{
		{Names: []string{containerd.PauseImage}, Entrypoint: []string{"/pause"}, User: "65535",
			Files: []image.File{{Path: "/pause", Source: c.Bin("pause")}}},
		{Names: []string{hypershift.PayloadImage()}, Entrypoint: []string{"/usr/bin/proxy-agent"},
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
