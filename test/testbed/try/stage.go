// This file creates and removes what runs on this host: three network namespaces with cables between them, the servers of an edge,
// and stand-ins for the control plane.

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cldmnky/oooi/edge/health"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/pki"
	"github.com/cldmnky/oooi/test/testbed/process"
	"github.com/cldmnky/oooi/test/testbed/worker/machine"
)

// A stage is everything that runs for one plan with one network.
type stage struct {
	// name is the prefix of the names of network namespaces. All files are in dir.
	name, dir      string
	out            io.Writer // for the user
	plan           network.Plan
	program, envoy string // paths of programs
	vm             *machine.Machine
	ca             []byte      // of the stand-ins, in PEM
	answering      []io.Closer // the stand-ins
}

// stopped is how long servers may take to end. Then they are killed.
const stopped = 5 * time.Second

// The addresses of the edge and of the control plane on their pod network. They are from a range for documentation (RFC 5737).
var edgePod, controlPlanePod = netip.MustParsePrefix("192.0.2.2/30"), netip.MustParsePrefix("192.0.2.1/30")

// network returns the network that the edge serves.
func (s *stage) network() network.Network { return s.plan.Networks[0] }

// namespace returns the path of a network namespace of s.
func (s *stage) namespace(part string) string { return lan.NetNSPath(s.name + "." + part) }

// clear removes everything of a stage with this name.
func (s *stage) clear(ctx context.Context) error {
	var err error
	for _, c := range s.answering {
		err = errors.Join(err, c.Close())
	}
	s.answering = nil
	err = errors.Join(err, machine.SwitchOff(ctx, s.name+".vm", filepath.Join(s.dir, "vm")), process.Kill(s.dir, stopped))
	for _, part := range []string{"edge", "control-plane"} {
		err = errors.Join(err, lan.DeleteNetNS(s.name+"."+part))
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// start starts everything, and returns when the servers are ready. The VM has no address yet.
func (s *stage) start(ctx context.Context) (err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if s.vm, err = machine.SwitchOn(ctx, s.name+".vm", filepath.Join(s.dir, "vm")); err != nil {
		return err
	}
	if err := s.connect(); err != nil {
		return err
	}
	if err := s.standIn(); err != nil {
		return err
	}
	if err := s.serve(ctx); err != nil {
		return err
	}
	return s.vm.WaitCarrier(ctx)
}

// connect connects the edge to the VM, with all addresses that an edge has on its network, and to the control plane.
func (s *stage) connect() error {
	for _, part := range []string{"edge", "control-plane"} {
		if err := lan.NewNetNS(s.name + "." + part); err != nil {
			return err
		}
	}
	n := s.network()
	at := []netip.Prefix{netip.PrefixFrom(n.Edges[0].Address, n.CIDR.Bits())}
	for _, a := range append([]netip.Addr{n.NextHopVIP, n.ServiceVIP}, n.PublishedAddresses...) {
		at = append(at, network.Host(a))
	}
	if err := lan.Cable(lan.End{NetNS: s.namespace("edge"), Interface: wire.Device, Addresses: at},
		lan.End{NetNS: s.vm.NetNS(), Interface: machine.Interface}); err != nil {
		return err
	}
	behind := []netip.Prefix{controlPlanePod}
	for _, b := range s.standIns() { // One Service can have several ports.
		if at := network.Host(b.ClusterIP); !slices.Contains(behind, at) {
			behind = append(behind, at)
		}
	}
	if err := lan.Cable(lan.End{NetNS: s.namespace("edge"), Interface: "eth0", Addresses: []netip.Prefix{edgePod}},
		lan.End{NetNS: s.namespace("control-plane"), Interface: "eth0", Addresses: behind}); err != nil {
		return err
	}
	// Edges do not forward packets.
	err := lan.InNetNS(s.namespace("edge"), func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("0"), 0o644) })
	return errors.Join(err, lan.Route(s.namespace("edge"), netip.PrefixFrom(netip.IPv4Unspecified(), 0), controlPlanePod.Addr()))
}

// standIns returns the Services of the control plane that edges forward to, if their ClusterIP is known.
func (s *stage) standIns() (out []network.Backend) {
	for _, b := range s.network().Backends {
		if b.Kind == network.BackendPods && b.ClusterIP.IsValid() {
			out = append(out, b)
		}
	}
	return out
}

// standIn starts a TLS server at the ClusterIP of each Service in standIns. Its certificate is for the names and addresses of the
// Service. It answers with the name of the Service.
func (s *stage) standIn() error {
	authority, err := pki.NewAuthority("make try")
	if err != nil {
		return err
	}
	s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate.Raw})
	for _, b := range s.standIns() {
		var hosts []string
		for _, e := range s.plan.Endpoints {
			if e.Backend.Name == b.Name {
				hosts = append(hosts, places(e)...)
			}
		}
		path := filepath.Join(s.dir, b.Service+"."+strconv.Itoa(int(b.Port)))
		if err := authority.Issue(path, pkix.Name{CommonName: b.Service}, hosts...); err != nil {
			return err
		}
		pair, err := tls.LoadX509KeyPair(path+".crt", path+".key")
		if err != nil {
			return err
		}
		var l net.Listener
		err = lan.InNetNS(s.namespace("control-plane"), func() (err error) {
			l, err = net.Listen("tcp4", netip.AddrPortFrom(b.ClusterIP, b.Port).String())
			return err
		})
		if err != nil {
			return err
		}
		answer := &http.Server{
			Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, b.Service) }),
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, ReadHeaderTimeout: time.Minute,
			ErrorLog: log.New(io.Discard, "", 0), // The health checks of edges connect and send no request.
		}
		s.answering = append(s.answering, answer)
		go func() { _ = answer.ServeTLS(l, "", "") }()
	}
	return nil
}

// serve starts the servers of the edge, with Envoy, and waits until each is ready.
func (s *stage) serve(ctx context.Context) error {
	run := filepath.Join(s.dir, "run")
	file := filepath.Join(s.dir, "plan.json")
	if err := errors.Join(os.MkdirAll(run, 0o755), os.WriteFile(file, s.plan.JSON(), 0o644)); err != nil {
		return err
	}
	number := strconv.Itoa(s.network().Edges[0].Number)
	for _, service := range s.network().Services {
		server := string(service)
		args := []string{s.program, server, "--plan", file, "--edge", number, "--interface", wire.Device, "--run-dir", run}
		if service == network.ServiceProxy {
			args = append(args, "--envoy", s.envoy)
		}
		_, err := process.Start(s.dir, process.Daemon{Name: server, Dir: s.dir, NetNS: s.namespace("edge"), Args: args, Env: []string{"TMPDIR=" + s.dir}})
		if err != nil {
			return err
		}
	}
	for _, service := range s.network().Services {
		server := string(service)
		err := process.Await(ctx, "server "+server, s.dir, server, func(ctx context.Context) error { return health.Probe(ctx, wire.Socket(run, server)) })
		if err != nil {
			return err
		}
	}
	return nil
}
