// This file tests what keeps memory small when answers are read slowly.

package main

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	apps "k8s.io/api/apps/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/hcp/apiproxy"
	"github.com/cldmnky/oooi/hcp/apirewrite"
	"github.com/cldmnky/oooi/test/programs"
)

// TestSmallWindow: the API server is told to send 256 KiB of an answer ahead, and not 4 MiB. client-go's transport has no
// setting for it.
func TestSmallWindow(t *testing.T) {
	g := NewWithT(t)
	example := httptest.NewTLSServer(nil)
	example.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: example.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	ca := programs.WriteFile(t, dir, "ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: example.Certificate().Raw})))
	kubeconfig := programs.WriteFile(t, dir, "kubeconfig", "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: 'https://"+l.Addr().String()+"', certificate-authority: '"+ca+"'}}]\n")
	transport, err := (&options{kubeconfig: kubeconfig, maxItem: apirewrite.Largest}).transport(&apirewrite.Rules{})
	g.Expect(err).NotTo(HaveOccurred())

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, transport.Server.String(), nil)
		if err == nil {
			_, _ = transport.Base.RoundTrip(request) //nolint:bodyclose // There is no answer.
		}
	}()
	defer func() { cancel(); _ = l.Close(); <-ended }()
	c, err := l.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_, err = io.ReadFull(c, make([]byte, len(http2.ClientPreface)))
	g.Expect(err).NotTo(HaveOccurred())
	frame, err := http2.NewFramer(io.Discard, c).ReadFrame()
	g.Expect(err).NotTo(HaveOccurred())
	settings, ok := frame.(*http2.SettingsFrame)
	g.Expect(ok).To(BeTrue(), "%T", frame)
	window, _ := settings.Value(http2.SettingInitialWindowSize)
	g.Expect(window).To(BeEquivalentTo(128 << 10))
}

// TestLargeHeader: a request with a header that no client needs is refused before it is counted.
func TestLargeHeader(t *testing.T) {
	g := NewWithT(t)
	r, file := sidecar(t, "--server", listen(t, func(http.ResponseWriter, *http.Request) {}), "--insecure")
	config := configOf(t, file)
	// Over HTTP/2, clients know the limit, and send no such request.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: poolOf(t, config.CAData), MinVersion: tls.VersionTLS12}}}
	defer client.CloseIdleConnections()
	for size, code := range map[int]int{16 << 10: http.StatusOK, apiproxy.LargestHeader + 8<<10: http.StatusRequestHeaderFieldsTooLarge} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+r.address()+"/version", nil)
		g.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+config.BearerToken)
		request.Header.Set("X-Large", strings.Repeat("x", size))
		answer, err := client.Do(request)
		if err != nil && code != http.StatusOK {
			continue // Go's server closes with bytes unread. A client that reads late sees only that.
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		g.Expect(answer.StatusCode).To(Equal(code), "%d bytes", size)
	}
}

// TestMemoryLimit: Go collects garbage before the gateway's container is at its limit.
func TestMemoryLimit(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("../../config/apiproxy/deployment.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var d apps.Deployment
	g.Expect(yaml.UnmarshalStrict(text, &d)).To(Succeed())
	c := d.Spec.Template.Spec.Containers[0]
	g.Expect(c.Env).To(ContainElement(And(HaveField("Name", "GOMEMLIMIT"), HaveField("Value", strconv.FormatInt(c.Resources.Limits.Memory().Value()/10*9, 10)))))
}

// TestPolicyOfTheGateway: a pod of another namespace reaches no port of a gateway, where the cluster enforces policies. Clients reach
// the port of requests, and monitoring that of metrics.
func TestPolicyOfTheGateway(t *testing.T) {
	g := NewWithT(t)
	read := func(name string, into any) {
		text, err := os.ReadFile("../../config/apiproxy/" + name)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(yaml.UnmarshalStrict(text, into)).To(Succeed())
	}
	var d apps.Deployment
	var p networking.NetworkPolicy
	read("deployment.yaml", &d)
	read("policy.yaml", &p)
	selector, err := meta.LabelSelectorAsSelector(&p.Spec.PodSelector)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(selector.Matches(labels.Set(d.Spec.Template.Labels))).To(BeTrue())
	g.Expect(p.Spec.PolicyTypes).To(ConsistOf(networking.PolicyTypeIngress))
	// reaches are the named ports that a pod of a namespace with this label reaches.
	reaches := func(key, value string) (out []string) {
		for _, rule := range p.Spec.Ingress {
			g.Expect(rule.From).NotTo(BeEmpty())
			for _, from := range rule.From {
				s, err := meta.LabelSelectorAsSelector(from.NamespaceSelector)
				g.Expect(err).NotTo(HaveOccurred())
				if s.Matches(labels.Set{key: value}) {
					for _, port := range rule.Ports {
						out = append(out, port.Port.String())
					}
				}
			}
		}
		return out
	}
	g.Expect(reaches("kubernetes.io/metadata.name", "default")).To(BeEmpty())
	g.Expect(reaches("kubernetes.io/metadata.name", "hypershift")).To(ConsistOf("https"))
	g.Expect(reaches("hypershift.openshift.io/hosted-control-plane", "true")).To(ConsistOf("https"))
	g.Expect(reaches("hostedcluster.densityops.com/apiproxy", "client")).To(ConsistOf("https"))
	g.Expect(reaches("network.openshift.io/policy-group", "monitoring")).To(ConsistOf("health"))
}
