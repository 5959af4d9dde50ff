// This file holds `oooi-edge diagnostics`, which `oooi must-gather` runs in each edge. It limits its size and time,
// because the edge serves VMs meanwhile.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/edge/device"
	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/envoy/admin"
	"github.com/cldmnky/oooi/envoy/resources"
	"github.com/cldmnky/oooi/version"
)

func newDiagnosticsCommand() *cobra.Command {
	var runDir string
	c := &cobra.Command{
		Use:    "diagnostics",
		Hidden: true, // Only must-gather runs it.
		Short:  "Print diagnostics of this edge for a bug report, as JSON",
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), wire.DiagnosticsTimeout)
			defer cancel()
			d := wire.Diagnostics{Version: wire.DiagnosticsVersion, Program: version.Of(), Time: time.Now().UTC().Truncate(time.Second)}
			d.Parts = collect(ctx, kernelSources(), envoySources(runDir))
			return json.NewEncoder(c.OutOrStdout()).Encode(d)
		},
	}
	c.Flags().StringVar(&runDir, "run-dir", wire.RunDir, "directory of the servers' sockets")
	return c
}

// A partSource makes one part of the document.
type partSource struct {
	name string
	// Field most is the largest size of the part in bytes.
	most int
	// read returns a list whose size in bytes is limited by parameter most. Result cut reports whether there is more.
	read func(ctx context.Context, most int) (items []json.RawMessage, cut bool, err error)
}

// collect reads the sources of a list in turn, and all lists at the same time, until ctx ends. The parts have the
// order of the sources.
func collect(ctx context.Context, lists ...[]partSource) []wire.DiagnosticsPart {
	var mu sync.Mutex
	var parts []wire.DiagnosticsPart
	for _, list := range lists {
		for _, s := range list {
			parts = append(parts, wire.DiagnosticsPart{Name: s.name, Missing: fmt.Sprintf("everything: not read within %s", wire.DiagnosticsTimeout)})
		}
	}
	whole, first := make(chan bool, len(lists)), 0
	for _, list := range lists {
		go func(at int) {
			for i, s := range list {
				part := s.part(ctx)
				mu.Lock()
				parts[at+i] = part
				mu.Unlock()
			}
			whole <- true
		}(first)
		first += len(list)
	}
	for range lists {
		select {
		case <-whole:
		case <-ctx.Done():
		}
	}
	mu.Lock()
	defer mu.Unlock()
	return slices.Clone(parts) // A source may still be reading.
}

// part reads s and returns its part of the document.
func (s partSource) part(ctx context.Context) wire.DiagnosticsPart {
	items, cut, err := s.read(ctx, s.most)
	fitting := fit(items, s.most)
	p := wire.DiagnosticsPart{Name: s.name, Content: listOf(items[:fitting])}
	switch {
	case err != nil && fitting == 0:
		p.Content, p.Missing = nil, "everything: "+err.Error()
	case err != nil:
		p.Missing = fmt.Sprintf("entries after the first %d: %v", fitting, err)
	case cut, fitting < len(items):
		p.Missing = fmt.Sprintf("entries after the first %d: the part is limited to %d KiB", fitting, s.most>>10)
	}
	return p
}

// fit returns how many of items fit into a list whose size in bytes is limited by parameter most.
func fit(items []json.RawMessage, most int) int {
	size := len("[]")
	for i, item := range items {
		if size += len(item) + len(","); size > most {
			return i
		}
	}
	return len(items)
}

func listOf(items []json.RawMessage) json.RawMessage {
	if items == nil {
		items = []json.RawMessage{}
	}
	return rawOf(items)
}

// rawOf returns v as JSON. Every value of a source can be encoded.
func rawOf(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("diagnostics: output of sources is always JSON: " + err.Error())
	}
	return b
}

func rawList[T any](all []T) (out []json.RawMessage) {
	for _, one := range all {
		out = append(out, rawOf(one))
	}
	return out
}

// kernelSources returns sources that describe the network namespace of this program.
func kernelSources() []partSource {
	return []partSource{
		{"links", 64 << 10, ofKernel((*device.Dump).Links)},
		{"addresses", 64 << 10, ofKernel((*device.Dump).Addresses)},
		{"rules", 32 << 10, ofKernel((*device.Dump).Rules)},
		{"routes", 128 << 10, ofKernel((*device.Dump).Routes)},
		{"neighbors", 512 << 10, ofKernel((*device.Dump).Neighbors)},
		{"sockets", 32 << 10, ofKernel((*device.Dump).Sockets)},
	}
}

func ofKernel[T any](read func(*device.Dump) ([]T, error)) func(context.Context, int) ([]json.RawMessage, bool, error) {
	return func(context.Context, int) ([]json.RawMessage, bool, error) {
		d, err := device.OpenDump()
		if err != nil {
			return nil, false, err
		}
		defer d.Close()
		all, err := read(d)
		return rawList(all), false, err
	}
}

// envoySources returns sources that describe the Envoy of runDir, if the edge has the proxy.
func envoySources(runDir string) []partSource {
	if _, err := os.Stat(wire.Dir(runDir, wire.Envoy)); errors.Is(err, fs.ErrNotExist) {
		return []partSource{{"envoy", 1 << 10, func(context.Context, int) ([]json.RawMessage, bool, error) {
			return rawList([]string{"This edge runs no Envoy."}), false, nil
		}}}
	}
	a := admin.NewClient(rundir.Transport(resources.NewDirs(wire.EnvoyDirs(runDir)).Admin()))
	config := func(kind string) func(context.Context, int) ([]json.RawMessage, bool, error) {
		return ofEnvoy(func(ctx context.Context, most int) ([]json.RawMessage, bool, error) { return a.Config(ctx, kind, most) })
	}
	return []partSource{
		{"envoyBootstrap", 64 << 10, ofEnvoy(a.Bootstrap)},
		{"envoyListeners", 1 << 20, config(admin.ConfigListeners)},
		{"envoyClusters", 512 << 10, config(admin.ConfigClusters)},
		{"envoyEndpoints", 384 << 10, config(admin.ConfigEndpoints)},
		{"envoyClusterStates", 512 << 10, ofEnvoy(a.Clusters)},
		{"envoyStats", 640 << 10, ofEnvoy(a.Stats)},
	}
}

func ofEnvoy[T any](read func(context.Context, int) ([]T, bool, error)) func(context.Context, int) ([]json.RawMessage, bool, error) {
	return func(ctx context.Context, most int) ([]json.RawMessage, bool, error) {
		all, cut, err := read(ctx, most)
		return rawList(all), cut, err
	}
}
