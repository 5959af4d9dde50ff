// This file separates what VMs notice because of edges from what they notice because the machine is busy. A busy machine explains
// that something takes long. It explains a cut only if an edge did not hear its peer, and announced, or if a VM asked all hosts: a switch
// that stands still loses what VMs ask the edge that they know, and then both edges answer.

package networks

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/test/apiserver"
	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/netns"
	"github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// newControl connects as VMs do, but to a server that no edge is part of. When it does not connect, the machine is busy.
func newControl(t *testing.T) *measure.Measurement {
	t.Helper()
	ns, err, at := netns.New(t), error(nil), net.JoinHostPort("127.0.0.1", apiPort)
	var listener net.Listener
	ns.Do(t, func() { listener, err = net.Listen("tcp4", at) })
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	api := newAPI(t, listener)
	ctx, cancel := context.WithCancel(t.Context())
	m := measure.Start(ctx, asks(measure.Options{Dial: func(ctx context.Context, network, address string) (c net.Conn, err error) {
		ns.Do(t, func() { c, err = new(net.Dialer).DialContext(ctx, network, address) })
		return c, err
	}, API: at}))
	t.Cleanup(func() { cancel(); m.Wait(); api.CloseClientConnections(); api.Close() })
	return m
}

// asks is how often VMs and the control ask, and for how long they wait. Only the long run holds times: otherwise an answer may
// take as long as a busy machine needs.
func asks(o measure.Options) measure.Options {
	o.Every = 100 * time.Millisecond
	if !programs.Long() {
		o.InTurn, o.Patience, o.Silence = true, patience.Limit/2, 2*patience.Limit
	}
	return o
}

// newAPI serves the published address, in Envoy's place.
func newAPI(t *testing.T, listener net.Listener) *httptest.Server {
	t.Helper()
	certificate, _ := apiserver.NewCertificate(t, service)
	api := &httptest.Server{Listener: listener, Config: &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }),
		ErrorLog: log.New(io.Discard, "", 0),
	}, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	api.StartTLS()
	return api
}

// now is the time since a measurement began.
func now(m *measure.Measurement) measure.Milliseconds {
	return measure.Milliseconds(time.Since(m.Report().Begin))
}

// gap returns for how long nothing connected since a time, at the longest. It is 0 for less than four attempts.
func gap(m *measure.Measurement, since measure.Milliseconds) time.Duration {
	longest := measure.Milliseconds(0)
	for _, g := range m.Report().TLS.Gaps {
		if g.At+g.For > since {
			longest = max(longest, g.For)
		}
	}
	return time.Duration(longest)
}

// promptly fails, in the long run, if what took a time took longer than most, unless the machine was busy since a time of the
// control.
func (s *site) promptly(what string, took, most time.Duration, since measure.Milliseconds) {
	s.Helper()
	switch busy := gap(s.control, since); {
	case took <= most || !programs.Long():
	case busy > 0:
		s.Logf("%s: %s, more than %s. It does not count: the machine was busy for %s", what, took, most, busy)
	default:
		s.Errorf("%s: %s, more than %s", what, took, most)
	}
}

// faulty fails, unless the machine was busy since a time of the control, and that explains it: the edge that VMs do not send to
// announced meanwhile, since it did not hear its peer serve, or a VM asked all hosts.
func (s *site) faulty(since measure.Milliseconds, announced, asked bool, format string, args ...any) {
	s.Helper()
	if busy := gap(s.control, since); busy > 0 && (announced || asked) {
		s.Logf(format+". It does not count: the machine was busy for %s, an edge announced (%t), a VM asked all hosts (%t)", append(args, busy, announced, asked)...)
		return
	}
	s.Errorf(format, args...)
}

// unheard matches the log of an announcement against a peer that does not serve, as far as the edge hears.
var unheard = regexp.MustCompile(`"msg":"failover announcement sent".*"peer":"[^s]`)

// announcements returns how many the pod has sent against a peer that it did not hear serve. It logs the first eight in a row.
func (p *pod) announcements() int {
	return len(unheard.FindAllString(p.logs[wire.Failover].String(), -1))
}
