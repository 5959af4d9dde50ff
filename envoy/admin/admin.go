// Package admin reads Envoy's state, counters and configuration through Envoy's admin interface. It changes nothing.
package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// The limits of one answer. A VM may have compromised Envoy.
const (
	answerTimeout = 5 * time.Second
	maxAnswer     = 2 << 20 // Parsed counters take about 30 times as much memory.
)

// A Client asks the admin interface of one Envoy.
type Client struct {
	// HTTP sends each request to Envoy, whatever host the URL has.
	HTTP http.Client
}

// NewClient returns a Client that asks over transport.
func NewClient(transport http.RoundTripper) *Client {
	return &Client{HTTP: http.Client{Timeout: answerTimeout, Transport: transport}}
}

// Serves returns nil if Envoy is up and has all named listeners, else what is missing.
func (c *Client) Serves(ctx context.Context, listeners []string) error {
	all, _ := c.Check(ctx, listeners)
	return all
}

// ServesAny returns nil if Envoy is up and has one of the named listeners, or if none is
// named.
func (c *Client) ServesAny(ctx context.Context, listeners []string) error {
	_, some := c.Check(ctx, listeners)
	return some
}

// Check asks Envoy once and returns the results of Serves (all) and ServesAny (some).
func (c *Client) Check(ctx context.Context, listeners []string) (all, some error) {
	missing, err := c.missing(ctx, listeners)
	switch {
	case err != nil:
		return err, err
	case len(missing) == 0:
		return nil, nil
	}
	all = fmt.Errorf("Envoy does not listen on %s", strings.Join(missing, ", "))
	if len(missing) == len(listeners) {
		some = fmt.Errorf("Envoy listens on none of %s", strings.Join(missing, ", "))
	}
	return all, some
}

// missing returns the named listeners that a running Envoy does not have.
func (c *Client) missing(ctx context.Context, listeners []string) ([]string, error) {
	state, err := c.get(ctx, "/ready")
	if err != nil {
		return nil, err
	}
	if s := strings.TrimSpace(string(state)); s != "LIVE" {
		return nil, fmt.Errorf("Envoy is %s", s)
	}
	b, err := c.get(ctx, "/listeners?format=json")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Listeners []struct {
			Name string `json:"name"`
		} `json:"listener_statuses"`
	}
	if err := json.Unmarshal(b, &answer); err != nil {
		return nil, fmt.Errorf("Envoy's listeners: %w", err)
	}
	var there, missing []string
	for _, l := range answer.Listeners {
		there = append(there, l.Name)
	}
	for _, l := range listeners {
		if !slices.Contains(there, l) {
			missing = append(missing, l)
		}
	}
	return missing, nil
}

// Metrics returns Envoy's counters in the Prometheus format.
func (c *Client) Metrics(ctx context.Context) ([]*dto.MetricFamily, error) {
	b, err := c.get(ctx, "/stats/prometheus")
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("Envoy's counters: %w", err)
	}
	return slices.Collect(maps.Values(families)), nil
}

func (c *Client) ask(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("Envoy does not answer: %w", err)
	}
	return resp, nil
}

// get returns the body of a response with any status: /ready names Envoy's state with a
// 503, too.
func (c *Client) get(ctx context.Context, path string) ([]byte, error) {
	resp, err := c.ask(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = fmt.Errorf("Envoy's answer is longer than %d bytes", maxAnswer)
	}
	return b, err
}
