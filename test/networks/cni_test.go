// This file attaches an edge's pod to its networks: it does for its annotation what Multus does, and runs the CNI plugins.

package networks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/controllers/attachments"
	"github.com/cldmnky/oooi/test/netns"
)

// A fabric is the network that VMs are on.
type fabric interface {
	// config is the CNI configuration of the VMs' NetworkAttachmentDefinition.
	config() string
	// node returns a node by its name.
	node(name string) *netns.Namespace
	// join attaches a pod or VM on a node to the VMs' NetworkAttachmentDefinition. An empty MAC requests none. What the
	// network knows about it is there until forget, even if the pod is gone.
	join(ns *netns.Namespace, node, device, mac string, ips []netip.Prefix) (forget func())
	// answersWith lists why a node answers ARP requests with a MAC itself, in place of the host that has it.
	answersWith(node, mac string) []string
	// lose cuts a node off.
	lose(node string)
}

// attach gives the pod each interface that its annotation has.
func (p *pod) attach() {
	p.Helper()
	var all []struct {
		Name, Namespace, Interface string
		IPs                        []netip.Prefix
	}
	n := p.plan().Networks[0]
	p.g.Expect(json.Unmarshal([]byte(attachments.OfEdge(n, n.Edges[p.number-1], controlPlane)), &all)).To(Succeed())
	for _, s := range all {
		if s.Namespace == n.Attachment.Namespace && s.Name == n.Attachment.Name {
			p.forget = append(p.forget, p.fabric.join(p.ns, p.node, s.Interface, "", s.IPs))
			continue
		}
		config := ""
		for _, d := range attachments.NADs(n) {
			if d.Name == s.Name && s.Namespace == controlPlane {
				config = d.Config
			}
		}
		p.g.Expect(config).NotTo(BeEmpty(), "there is no NetworkAttachmentDefinition %s/%s", s.Namespace, s.Name)
		p.runPlugins(config, s.Interface, s.IPs)
	}
}

// runPlugins runs a chain of CNI plugins on the pod's node, as the CNI specification has it.
func (p *pod) runPlugins(config, device string, ips []netip.Prefix) {
	p.Helper()
	var list struct {
		CNIVersion, Name string
		Plugins          []map[string]any
	}
	p.g.Expect(json.Unmarshal([]byte(config), &list)).To(Succeed())
	var result json.RawMessage
	for _, plugin := range list.Plugins {
		in := maps.Clone(plugin)
		in["cniVersion"], in["name"] = list.CNIVersion, list.Name
		if plugin["capabilities"] != nil {
			in["runtimeConfig"] = map[string]any{"ips": ips}
		}
		if result != nil {
			in["prevResult"] = result
		}
		if in["type"] == "tuning" {
			in["dataDir"] = p.dir // What it restores when the pod ends.
		}
		if in["type"] == "dummy" && !p.build.dummies {
			p.Logf("the kernel has no devices of type dummy: another device stands in for %s of edge %d, and the CNI plugin dummy is not run", device, p.number)
			result = p.standIn(device, ips)
			continue
		}
		result = p.runPlugin(in, device)
	}
}

func (p *pod) runPlugin(in map[string]any, device string) json.RawMessage {
	p.Helper()
	stdin, err := json.Marshal(in)
	p.g.Expect(err).NotTo(HaveOccurred())
	c := p.fabric.node(p.node).Command(context.WithoutCancel(p.Context()), filepath.Join(p.build.plugins, fmt.Sprint(in["type"])))
	var out bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), &out, &out
	c.Env = append(os.Environ(), "CNI_COMMAND=ADD", "CNI_CONTAINERID="+p.ns.Name, "CNI_NETNS=/run/netns/"+p.ns.Name, "CNI_IFNAME="+device, "CNI_PATH="+p.build.plugins)
	p.g.Expect(c.Run()).To(Succeed(), "%s: %s", stdin, &out)
	return out.Bytes()
}

// standIn does what the dummy plugin does, with another device that has no link.
func (p *pod) standIn(device string, ips []netip.Prefix) json.RawMessage {
	p.Helper()
	var all []string
	for _, a := range ips {
		all = append(all, a.String())
	}
	p.ns.Dummy(p, device, all...)
	return json.RawMessage(fmt.Sprintf(`{"cniVersion":"1.0.0","interfaces":[{"name":%q,"sandbox":%q}]}`, device, "/run/netns/"+p.ns.Name))
}
