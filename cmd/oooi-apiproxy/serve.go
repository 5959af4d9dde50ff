// This file starts and ends the servers that the flags select.

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/hcp/apiproxy"
	"github.com/cldmnky/oooi/hcp/apirewrite"
	"github.com/cldmnky/oooi/hcp/apirewrite/protobuf"
)

// run runs the servers until ctx ends, or one of them fails, or the rules file changes.
func (o *options) run(ctx context.Context, stderr io.Writer) error {
	rules, text, err := readRules(o.rules)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	logger := slog.New(slog.NewJSONHandler(stderr, nil))
	transport, err := o.transport(rules)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	handler := apiproxy.Handler{Transport: transport, Log: logger}
	config, err := o.clientSide(&handler, listener.Addr().String(), logger)
	if err != nil {
		return err
	}
	m := &metrics{}
	s, l := apiproxy.Limited(m.count(apiproxy.Requests(handler.Serve())), listener, func() { m.closed.Add(1) })
	g, ctx := errgroup.WithContext(ctx)
	drained, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	o.serve(ctx, g, s, l, config, logger, end)
	if err := o.serveHealth(ctx, drained, g, m, transport, logger); err != nil {
		return err
	}
	if err := o.serveWebhooks(ctx, g, m, transport, logger); err != nil {
		return err
	}
	g.Go(func() error { return followRules(ctx, o.rules, text, logger) })
	logger.Info("proxy started", "address", listener.Addr().String(), "server", transport.Server.String())
	return g.Wait()
}

// transport returns a transport to the API server. For a gateway, it adds no credentials to requests.
func (o *options) transport(rules *apirewrite.Rules) (*apiproxy.Transport, error) {
	config, server, err := o.apiServer()
	if err != nil {
		return nil, err
	}
	if o.cert != "" {
		config = rest.AnonymousClientConfig(config)
	}
	config.DisableCompression = true
	config.Wrap(small)
	base, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	one := rest.CopyConfig(config)
	one.NextProtos = []string{"http/1.1"} // HTTP/2 has no Upgrade header, which exec and port-forward need.
	upgrade, err := rest.TransportFor(one)
	if err != nil {
		return nil, fmt.Errorf("reaching the API server: %w", err)
	}
	converter, err := protobuf.New()
	if err != nil {
		return nil, err
	}
	return &apiproxy.Transport{
		Rules: rules, Base: base, Upgrade: upgrade, Server: server, Largest: o.maxItem, JSON: converter.JSON, Bodies: apiproxy.NewBodies(o.maxItem),
	}, nil
}

// small sets the HTTP/2 options of the http.Transport in t, and returns t. It limits the receive buffer of a response to
// 128 KiB, because Go's default is 4 MiB, and a client may not read. It allows frames of 64 KiB, because fewer and larger frames
// cost less.
func small(t http.RoundTripper) http.RoundTripper {
	inner := t
	for {
		wrapper, ok := inner.(utilnet.RoundTripperWrapper)
		if !ok {
			break
		}
		inner = wrapper.WrappedRoundTripper()
	}
	if own, ok := inner.(*http.Transport); ok && inner != http.DefaultTransport {
		own.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 128 << 10, MaxReadFrameSize: 64 << 10}
	}
	return t
}

// clientSide returns the TLS configuration of the server for clients, which listens at address. For a sidecar, it also sets
// h.Token and writes the kubeconfig.
func (o *options) clientSide(h *apiproxy.Handler, address string, logger *slog.Logger) (*tls.Config, error) {
	if o.cert != "" {
		followed, err := follow(o.cert, o.key, logger)
		if err != nil {
			return nil, err
		}
		return followed.config(), nil
	}
	own, kept, err := identityOf(o.writeKubeconfig, address, time.Now())
	if err != nil {
		return nil, err
	}
	logger.Info("identity of the kubeconfig", "kept", kept)
	h.Token = own.token
	return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own.certificate}, NextProtos: []string{"h2", "http/1.1"}}, own.write(o.writeKubeconfig)
}

// serve adds server s to g. s listens on l. When ctx ends, s accepts no more requests, and the open ones get the time of
// --drain to finish. Function ended is called after the last request. If config is nil, s uses plain HTTP.
func (o *options) serve(ctx context.Context, g *errgroup.Group, s *http.Server, l net.Listener, config *tls.Config, logger *slog.Logger, ended func()) {
	var open sync.WaitGroup
	h := s.Handler
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open.Add(1)
		defer open.Done()
		h.ServeHTTP(w, r)
	})
	if s.TLSConfig = config; s.ErrorLog == nil {
		s.ErrorLog = apiproxy.Lines(logger, "connection failed")
	}
	s.ReadHeaderTimeout, s.IdleTimeout = 10*time.Second, 2*time.Minute
	g.Go(func() error {
		var err error
		if config == nil {
			err = s.Serve(l)
		} else {
			err = s.ServeTLS(l, "", "")
		}
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	})
	g.Go(func() error {
		defer ended()
		<-ctx.Done()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.drain)
		defer cancel()
		if s.Shutdown(limit) != nil {
			return s.Close() // Watches never finish.
		}
		streams := make(chan struct{}) // Shutdown does not wait for hijacked connections, such as those of exec.
		go func() {
			open.Wait()
			close(streams)
		}()
		select {
		case <-streams:
		case <-limit.Done():
		}
		return nil
	})
}

// followRules reads the file at path again and again. Parameter now is the content in use. When the file contains
// other valid rules, followRules returns an error, which ends the program. Rules are not replaced without a restart,
// because names must not change during a watch.
func followRules(ctx context.Context, path string, now []byte, logger *slog.Logger) error {
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	refused := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) == string(now) || string(text) == refused {
			continue
		}
		if _, err := apirewrite.Parse(path, text); err != nil {
			refused = string(text)
			logger.Error("new rules rejected, keeping the current rules", "err", err)
			continue
		}
		return fmt.Errorf("%s has changed: restart to use the new rules", path)
	}
}
