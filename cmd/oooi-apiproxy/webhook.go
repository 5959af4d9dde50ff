// This file starts the server for webhook calls from the API server.

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/cldmnky/oooi/hcp/apiproxy"
)

// serveWebhooks adds the server for webhook calls to g, if --webhook-listen is set.
func (o *options) serveWebhooks(ctx context.Context, g *errgroup.Group, m *metrics, t *apiproxy.Transport, logger *slog.Logger) error {
	if o.webhookListen == "" {
		return nil
	}
	own, err := follow(o.webhookCert, o.webhookKey, logger)
	if err != nil {
		return err
	}
	config := own.config()
	if o.webhookClientCA != "" {
		if config.ClientCAs, err = pool(o.webhookClientCA); err != nil {
			return err
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	target, err := url.Parse(o.webhookTarget)
	if err != nil {
		return fmt.Errorf("--webhook-target: %w", err)
	}
	if _, err := o.targetTLS(own); err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.webhookListen)
	if err != nil {
		return err
	}
	transport := &http.Transport{DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		config, err := o.targetTLS(own) // The files of the certificates may have changed.
		if err != nil {
			return nil, err
		}
		return (&tls.Dialer{Config: config}).DialContext(ctx, network, address)
	}}
	logger.Info("webhook proxy started", "address", l.Addr().String(), "target", target.String())
	h := apiproxy.Webhook{Rules: t.Rules, Bodies: t.Bodies, Target: target, Transport: transport, Largest: o.maxItem, Log: logger}
	s, l := apiproxy.Limited(apiproxy.Requests(h), l, func() { m.closed.Add(1) })
	o.serve(ctx, g, s, l, config, logger, func() {})
	return nil
}

// targetTLS returns the TLS configuration for connections to the webhook server. Parameter own is the certificate of
// the proxy. By default, the webhook server must have the same one.
func (o *options) targetTLS(own *followed) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.webhookName, RootCAs: x509.NewCertPool()}
	leaf, err := x509.ParseCertificate(own.get().Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", o.webhookCert, err)
	}
	if config.ServerName == "" && len(leaf.DNSNames) > 0 {
		config.ServerName = leaf.DNSNames[0]
	}
	if o.webhookCA == "" {
		config.RootCAs.AddCert(leaf)
		return config, nil
	}
	config.RootCAs, err = pool(o.webhookCA)
	return config, err
}

// pool returns the CA certificates in a file.
func pool(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a CA: %w", err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", path)
	}
	return p, nil
}
