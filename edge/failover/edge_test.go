package failover_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cldmnky/oooi/edge/failover"
)

// asEdge holds edgeOptions if this test binary runs as an edge.
const asEdge = "OOOI_TEST_EDGE"

// closes is what an edge logs before it stops to serve.
const closes = "edge closes"

const (
	nextHop, service = "192.168.100.2", "192.168.100.3"
	port             = "6443"
)

func TestMain(m *testing.M) {
	if o := os.Getenv(asEdge); o != "" {
		if err := runEdge(o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The tests wait more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type edgeOptions struct {
	Edge                 int
	Address, PeerAddress netip.Addr
	CIDR                 netip.Prefix
}

// runEdge runs a failover agent and an echo server that sends its edge number first.
// SIGUSR1 stops the server, SIGUSR2 starts it again, SIGTERM drains.
func runEdge(options string) error {
	var o edgeOptions
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return err
	}
	s := &echo{edge: o.Edge}
	if err := s.begin(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTERM)
	go func() {
		for got := range signals {
			switch got {
			case syscall.SIGUSR1:
				s.end()
			case syscall.SIGUSR2:
				_ = s.begin()
			case syscall.SIGTERM:
				cancel()
			}
		}
	}()
	log := slog.New(slog.NewTextHandler(os.Stdout, nil))
	err := runAgent(ctx, failover.Options{
		Device: "net1", CIDR: o.CIDR, Edge: o.Edge, Address: o.Address, PeerAddress: o.PeerAddress, NextHopVIP: netip.MustParseAddr(nextHop),
		OnLink:  func() []netip.Addr { return []netip.Addr{netip.MustParseAddr(service)} },
		Serving: s.serving, Log: log,
	})
	log.Info(closes)
	s.end()
	return err
}

// An echo is a server on the service VIP.
type echo struct {
	edge int

	accepting sync.WaitGroup
	mu        sync.Mutex
	listener  net.Listener
	conns     []net.Conn
}

func onNet1(_, _ string, c syscall.RawConn) error {
	var bound error
	err := c.Control(func(fd uintptr) { bound = unix.BindToDevice(int(fd), "net1") })
	return errors.Join(err, bound)
}

func (s *echo) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	config := net.ListenConfig{Control: onNet1}
	l, err := config.Listen(context.Background(), "tcp4", net.JoinHostPort(service, port))
	if err != nil {
		return err
	}
	s.listener = l
	s.accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, s.edge)
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			go func() {
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					_, _ = io.WriteString(c, line)
				}
			}()
		}
	})
	return nil
}

// end answers all connections that were accepted before it closes them: to a VM, a connection that ends without an answer
// was not served.
func (s *echo) end() {
	s.mu.Lock()
	l := s.listener
	s.listener = nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	_ = l.Close()
	s.accepting.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
	s.conns = nil
}

func (s *echo) serving() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return errors.New("does not listen")
	}
	return nil
}
