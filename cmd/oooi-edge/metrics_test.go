package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/fakes"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// metricsOf reads the metrics at an address from a namespace.
func metricsOf(t *testing.T, from *netns.Namespace, address string) (string, error) {
	t.Helper()
	c := http.Client{Timeout: patience.Limit, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, at string) (c net.Conn, err error) {
		from.Do(t, func() { c, err = (&net.Dialer{Timeout: patience.Limit}).DialContext(ctx, "tcp4", at) })
		return c, err
	}}}
	resp, err := c.Get("http://" + address + ":" + strconv.Itoa(network.MetricsPort) + "/metrics")
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return string(b), err
}

// TestMetricsOnThePodNetworkOnly: pods read the metrics of all programs of an edge, and of its Envoy, at
// one port. VMs reach it at no address, also if they route to the pod network through the edge. It is
// open only while the plan has the port.
func TestMetricsOnThePodNetworkOnly(t *testing.T) {
	g := NewWithT(t)
	program := programs.RequireEnvoy(t)
	v := newVLAN(t, blueService+"/32", blueNextHop+"/32")
	v.edge.Sysctl(t, "net/ipv4/conf/all/forwarding", "0")
	v.machine.Route(t, "10.128.0.0/24", "192.168.100.4") // The weak host model.
	greeter(t, v.pod, "10.128.0.1:6443")
	run := fakes.RunDir(t)
	file := filepath.Join(run, "plan.json")
	proxied(t, file, 6443)
	start(t, v.edge, "proxy", "--plan", file, "--run-dir", run, "--envoy", program)
	start(t, v.edge, "failover", "--plan", file, "--run-dir", run, "--cluster-interface", "eth0")
	serves := func(port uint16) { changePlan(t, file, func(n *network.Network) { n.MetricsPort = port }) }
	_, err := metricsOf(t, v.pod, "10.128.0.2")
	g.Expect(err).To(HaveOccurred(), "an earlier plan has no port")

	serves(network.MetricsPort)
	read := func() (string, error) { return metricsOf(t, v.pod, "10.128.0.2") }
	g.Eventually(read).Should(And(
		ContainSubstring(`oooi_program_scraped{program="proxy"} 1`), ContainSubstring(`oooi_program_scraped{program="failover"} 1`),
		ContainSubstring(`oooi_proxy_ready{program="proxy"}`), ContainSubstring(`oooi_failover_level{level="reaches",program="failover"}`),
		ContainSubstring(`process_cpu_seconds_total{program="proxy"}`),
	))
	g.Eventually(func() error { _, _, err := greeted(t, v.machine, blueService+":6443"); return err }).Should(Succeed())
	g.Eventually(read).Should(And(
		ContainSubstring(`envoy_cluster_upstream_cx_total{backend="kube-apiserver:6443",program="proxy"} `),
		ContainSubstring(`envoy_listener_downstream_cx_total{listener="192.168.100.3:6443",program="proxy"} 1`),
	))
	text, err := read()
	g.Expect(err).NotTo(HaveOccurred())
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range problems {
		g.Expect(p.Metric).NotTo(HavePrefix("oooi_"), p.Text)
	}
	for _, at := range []string{"10.128.0.2", blueService, blueNextHop, "192.168.100.4"} {
		_, err := metricsOf(t, v.machine, at)
		g.Expect(err).To(MatchError(ContainSubstring("refused")), "a VM at %s", at)
	}
	g.Expect(v.edge.Run(t, "ss", "-Hlnt")).NotTo(MatchRegexp(`(?m)^LISTEN\s+\d+\s+\d+\s+[^%]+:\d+\s`), "every socket is bound to its device")

	serves(0)
	g.Eventually(func() error { _, err := read(); return err }).Should(HaveOccurred())
}
