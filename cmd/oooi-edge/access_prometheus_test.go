package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/go-jose/go-jose/v4"
	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/sharedfiles"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// scrapes is one job for each way that Prometheus could ask. The one with a token sends it to the proxy only.
const scrapes = `global: {scrape_interval: 1s}
scrape_configs:
- job_name: token
  scheme: https
  proxy_url: http://%[1]s
  proxy_connect_header: {Proxy-Authorization: [Bearer %[2]s]}
  tls_config: {ca_file: %[3]s}
  static_configs: [{targets: [worker-1:9100]}]
- job_name: none
  scheme: https
  proxy_url: http://%[1]s
  tls_config: {ca_file: %[3]s}
  static_configs: [{targets: [worker-1:9100]}]
- job_name: withoutTLS
  proxy_url: http://%[1]s
  static_configs: [{targets: [worker-1:9100]}]
`

// TestPrometheusScrapesANode: with the plan of an annotation, Debian's Prometheus has a metric of Debian's node exporter on a VM, whose
// name its certificate has. With accounts it needs a token, in proxy_connect_header. It asks no proxy for a CONNECT without TLS.
func TestPrometheusScrapesANode(t *testing.T) {
	t.Parallel()
	prometheus := programs.RequireUnpacked(t, "prometheus", "usr/bin/prometheus")
	exporter := programs.RequireUnpacked(t, "prometheus-node-exporter", "usr/bin/prometheus-node-exporter")
	g, d, dir := NewWithT(t), newDoor(t), t.TempDir()
	text, err := golden.Find(t, "management-access").Whole("plan.json")
	g.Expect(err).NotTo(HaveOccurred())
	plan, err := network.ReadPlan(text)
	g.Expect(err).NotTo(HaveOccurred())
	opened := plan.Networks[0].Access
	g.Expect(opened.Accounts).To(ContainElement("openshift-monitoring/prometheus-k8s"))
	changePlan(t, d.plan, func(n *network.Network) { n.Access = opened })
	key := newSigner(t)
	set, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), Use: "sig"}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sharedfiles.Replace(wire.File(d.dir, "dhcp", wire.KeysFile), set)).To(Succeed())
	certificate := certificateFiles(t, dir, "worker-1")
	background(t, d.machine, exporter, "--web.listen-address=0.0.0.0:9100", "--web.config.file="+programs.WriteFile(t, dir, "web.yaml",
		fmt.Sprintf("tls_server_config: {cert_file: %s, key_file: %s}\n", certificate, filepath.Join(dir, "tls.key"))))
	start(t, d.edge, d.args()...)
	config := fmt.Sprintf(scrapes, atEdge, key.tokenOf(t, "openshift-monitoring:prometheus-k8s", opened.Audience), certificate)
	background(t, d.pod, prometheus, "--config.file="+programs.WriteFile(t, dir, "prometheus.yaml", config), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:9090")

	asks := func(path string) string {
		out, _ := d.pod.Command(t.Context(), "curl", "-sSg", "-m", "60", "http://127.0.0.1:9090/api/v1/"+path).CombinedOutput()
		return string(out)
	}
	metric := func(job string) func() string {
		return func() string { return asks(`query?query=node_uname_info{job="` + job + `"}`) }
	}
	fault := func(job string) func() string {
		return func() string {
			var got struct {
				Data struct {
					ActiveTargets []struct {
						LastError string
						Labels    struct{ Job string }
					}
				}
			}
			if err := json.Unmarshal([]byte(asks("targets?state=active")), &got); err != nil {
				return err.Error()
			}
			for _, x := range got.Data.ActiveTargets {
				if x.Labels.Job == job {
					return x.LastError
				}
			}
			return "no such target"
		}
	}
	g.Eventually(metric("token"), patience.Limit, "200ms").Should(ContainSubstring(`"instance":"worker-1:9100"`))
	g.Eventually(fault("none"), patience.Limit, "200ms").Should(ContainSubstring("Unauthorized"))
	g.Eventually(fault("withoutTLS"), patience.Limit, "200ms").Should(ContainSubstring("405"))
	changePlan(t, d.plan, func(n *network.Network) { n.Access.Accounts, n.Access.Audience = nil, "" })
	g.Eventually(metric("none"), patience.Limit, "200ms").Should(ContainSubstring(`"instance":"worker-1:9100"`))
}

// background runs a program in n until the test ends.
func background(t *testing.T, n *netns.Namespace, program string, args ...string) {
	t.Helper()
	said := programs.Start(t, n.Command(context.WithoutCancel(t.Context()), program, args...))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(program), said)
		}
	})
}

// certificateFiles writes a certificate of name and its key, tls.key, in dir. It returns the file of the certificate.
func certificateFiles(t *testing.T, dir, name string) string {
	t.Helper()
	c := selfSigned(t, name)
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	file := func(file, kind string, der []byte) string {
		return programs.WriteFile(t, dir, file, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	file("tls.key", "PRIVATE KEY", key)
	return file("tls.crt", "CERTIFICATE", c.Certificate[0])
}
