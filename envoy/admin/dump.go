// This file reads what a bug report needs from Envoy: configuration, clusters and counters.

package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxDump is how much of one answer is read, in bytes. A third of it is the indentation of Envoy's JSON.
const maxDump = 16 << 20

// The kinds of configuration that Config returns, as fields of Envoy's config dump.
const (
	ConfigListeners = "dynamic_listeners"
	ConfigClusters  = "dynamic_active_clusters"
	ConfigEndpoints = "dynamic_endpoint_configs"
)

// Stats returns a line for each counter and gauge that Envoy has used. Parameter most limits their size in bytes. Result cut
// reports whether there are more.
func (c *Client) Stats(ctx context.Context, most int) (lines []string, cut bool, err error) {
	return c.lines(ctx, "/stats?usedonly", most)
}

// Clusters returns lines about each cluster and its endpoints. Parameter most limits their size in bytes. Result cut reports
// whether there are more.
func (c *Client) Clusters(ctx context.Context, most int) (lines []string, cut bool, err error) {
	return c.lines(ctx, "/clusters", most)
}

// Config returns the resources of one kind that Envoy has. Parameter most limits their size in bytes. Result cut reports
// whether there are more. Envoy leaves out what its API marks as sensitive, such as private keys.
func (c *Client) Config(ctx context.Context, kind string, most int) (resources []json.RawMessage, cut bool, err error) {
	return c.configs(ctx, "/config_dump?include_eds&resource="+url.QueryEscape(kind), most)
}

// Bootstrap returns the configuration with which Envoy was started, without its list of extensions. Parameter most limits
// the result in bytes. Result cut reports whether there is more.
func (c *Client) Bootstrap(ctx context.Context, most int) (resources []json.RawMessage, cut bool, err error) {
	const fields = "bootstrap.admin,bootstrap.dynamic_resources,bootstrap.static_resources,bootstrap.layered_runtime,bootstrap.overload_manager,bootstrap.stats_config"
	return c.configs(ctx, "/config_dump?mask="+fields, most)
}

func (c *Client) lines(ctx context.Context, path string, most int) (lines []string, cut bool, err error) {
	body, err := c.open(ctx, path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = body.Close() }()
	in := bufio.NewScanner(body)
	in.Buffer(nil, 64<<10)
	for in.Scan() {
		if most -= len(in.Text()) + len(`"",`); most < 0 {
			return lines, true, nil
		}
		lines = append(lines, in.Text())
	}
	return lines, false, in.Err()
}

func (c *Client) configs(ctx context.Context, path string, most int) (resources []json.RawMessage, cut bool, err error) {
	body, err := c.open(ctx, path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = body.Close() }()
	in := json.NewDecoder(body)
	for _, want := range []json.Token{json.Delim('{'), "configs", json.Delim('[')} {
		switch got, err := in.Token(); {
		case err != nil:
			return nil, false, fmt.Errorf("Envoy's configuration: %w", err)
		case got == json.Delim('}'): // Envoy has no such resources.
			return nil, false, nil
		case got != want:
			return nil, false, fmt.Errorf("Envoy's configuration: %v in the place of %v", got, want)
		}
	}
	for in.More() {
		var one json.RawMessage
		if err := in.Decode(&one); err != nil {
			return resources, false, fmt.Errorf("Envoy's configuration: %w", err) // The resources read so far are complete.
		}
		var dense bytes.Buffer
		if err := json.Compact(&dense, one); err != nil {
			return resources, false, fmt.Errorf("Envoy's configuration: %w", err)
		}
		if most -= dense.Len() + 1; most < 0 {
			return resources, true, nil
		}
		resources = append(resources, dense.Bytes())
	}
	if _, err := in.Token(); err != nil {
		return resources, false, fmt.Errorf("Envoy's configuration: %w", err)
	}
	return resources, false, nil
}

// open returns Envoy's answer, at most maxDump bytes. It is an empty object if Envoy has no such resource (404).
func (c *Client) open(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := c.ask(ctx, path)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxDump), resp.Body}, nil
	case http.StatusNotFound:
		return io.NopCloser(strings.NewReader("{}")), resp.Body.Close()
	}
	return nil, errors.Join(fmt.Errorf("Envoy answers %s", resp.Status), resp.Body.Close())
}
