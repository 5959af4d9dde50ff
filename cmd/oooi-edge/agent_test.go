package main

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// TestAnAgentThatDialsOut: the agent of apiserver-network-proxy on a VM reaches its server through an allowed host. Then clients of
// the server reach what only the VM reaches. Without the host in the plan, they reach nothing.
func TestAnAgentThatDialsOut(t *testing.T) {
	const hub = "hub.example.com"
	g, v, dir := NewWithT(t), newVLAN(t, blueService+"/32"), fakes.RunDir(t)
	envoy, konnectivity := programs.RequireEnvoy(t), programs.RequireKonnectivity(t)
	v.resolves(t, hub)
	etc(t, v.machine, "hosts", blueService+" "+hub+"\n") // As DNS of the edge answers.
	v.machine.Serve(t, "127.0.0.1:8080", func(c net.Conn) { _, _ = io.WriteString(c, "inside") })
	file := filepath.Join(dir, "plan.json")
	open := func(host string) {
		outside := network.Backend{Kind: network.BackendExternal, Name: host + ":8091", Host: host, Port: 8091}
		carries(t, file, outside, network.Listener{Address: netip.MustParseAddr(blueService), Port: 8091, Forwards: []network.Forward{{ServerNames: []string{host}, Backend: outside.Name}}})
	}
	open("other.example.com")
	start(t, v.edge, "proxy", "--plan", file, "--run-dir", dir, "--envoy", envoy)
	certificate, socket := certificateFiles(t, dir, hub), filepath.Join(dir, "server.sock")
	background(t, v.pod, filepath.Join(konnectivity, "proxy-server"), "--mode=http-connect", "--uds-name="+socket, "--server-port=0", "--cluster-cert="+certificate, "--cluster-key="+filepath.Join(dir, "tls.key"))
	background(t, v.machine, filepath.Join(konnectivity, "proxy-agent"), "--proxy-server-host="+hub, "--ca-cert="+certificate, "--sync-interval=200ms", "--sync-interval-cap=500ms")
	asks := func() string {
		c, err := net.Dial("unix", socket)
		if err != nil {
			return err.Error()
		}
		defer func() { _ = c.Close() }()
		fmt.Fprint(c, "CONNECT 127.0.0.1:8080 HTTP/1.1\r\nHost: x\r\n\r\n")
		said := line(c)
		return said[strings.LastIndex(said, "\n")+1:]
	}
	g.Eventually(func() string { return v.edge.Run(t, "ss", "-Hlnt") }, patience.Limit, "100ms").Should(ContainSubstring(":8091"), "the edge answers at the port")
	g.Eventually(func() string { return scraped(t, wire.Socket(dir, "proxy")) }).Should(MatchRegexp(`(?m)no_filter_chain_match\S* [2-9]`), "the agent has tried twice")
	g.Expect(asks()).NotTo(Equal("inside"), "another host is allowed")
	open(hub)
	g.Eventually(asks, patience.Limit, "100ms").Should(Equal("inside"))
}
