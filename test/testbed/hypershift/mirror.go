// This file starts a registry that is neither on the pod network nor on a VLAN: a separate host on the LAN. The management cluster's DNS
// resolves its name (test/testbed/cluster/manifests/coredns.yaml).
package hypershift

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"

	"github.com/cldmnky/oooi/test/testbed/cluster"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/ocp"
	"github.com/cldmnky/oooi/test/testbed/process"
)

// MirrorHost is the host name of the registry that StartMirror starts. It serves on port 443.
const MirrorHost = "mirror.example.net"

// MirrorImage is an image that only this registry has.
const MirrorImage = MirrorHost + "/ocp/extra:1"

const mirrorAddress = "10.240.0.60"

// CA returns the CA that signed the certificates of the testbed's registries, in PEM.
func (h *HyperShift) CA() []byte { return h.pki.CA }

// StartMirror starts the registry MirrorHost, unless it runs. The registry listens once its content is loaded.
func (h *HyperShift) StartMirror(ctx context.Context) error {
	if process.Pid(h.cluster.Dir, "mirror") != 0 {
		return nil
	}
	name := h.cluster.HostName("mirror")
	if _, err := os.Stat(lan.NetNSPath(name)); errors.Is(err, os.ErrNotExist) {
		if err := h.plugMirror(ctx, name); err != nil {
			return fmt.Errorf("the mirror's machine: %w", err)
		}
	}
	list, err := json.Marshal([]ocp.RegistryImage{{Name: MirrorImage, Files: map[string][]byte{"etc/testbed": []byte("from the mirror\n")}}})
	if err != nil {
		return err
	}
	if err := write(h.path("mirror.json"), list); err != nil {
		return err
	}
	_, err = h.cluster.Start(process.Daemon{Name: "mirror", Dir: h.cluster.Dir, NetNS: lan.NetNSPath(name), Args: []string{
		h.cluster.Bin("registry"), "--listen", net.JoinHostPort(mirrorAddress, "443"), "--images", h.path("mirror.json"),
		"--tls-cert-file", h.path("pki", "mirror.crt"), "--tls-private-key-file", h.path("pki", "mirror.key"),
	}})
	return err
}

// plugMirror creates a network namespace with this name on the untagged LAN. Its default gateway is the node.
func (h *HyperShift) plugMirror(ctx context.Context, name string) error {
	if err := lan.NewNetNS(name); err != nil {
		return err
	}
	const card = "eth0"
	if err := h.cluster.LAN().PlugVLAN(ctx, lan.NetNSPath(name), card, 0, nil); err != nil {
		return err
	}
	return lan.InNetNS(lan.NetNSPath(name), func() error {
		link, err := netlink.LinkByName(card)
		if err != nil {
			return err
		}
		address, err := netlink.ParseAddr(mirrorAddress + "/24")
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, address); err != nil {
			return err
		}
		return netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Gw: net.ParseIP(cluster.NodeIP)})
	})
}
