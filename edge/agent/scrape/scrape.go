// Package scrape gathers the metrics of all programs of an edge from their sockets. A VM may control a program, so each answer
// is limited in size and time, and to known names. If a program does not answer, only its own metrics are missing.
package scrape

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/cldmnky/oooi/edge/rundir"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/network/metrics"
)

// The limits of one program.
const (
	scrapeTimeout = 3 * time.Second
	maxScrape     = 2 << 20 // In bytes.
	// maxSeries is enough for the proxy of a plan with 1,000 backends.
	maxSeries = 12_000
	// scrapeAgain is how long an answer is reused, however many clients there are.
	scrapeAgain = time.Second
)

// programLabel is the label of the program that a metric belongs to.
const programLabel = "program"

// A Scrape gathers the metrics of an edge.
type Scrape struct {
	RunDir string
	// Own gathers the metrics of this program, the failover agent.
	Own prometheus.Gatherer
	// Services returns the programs of the edge, see wire.Servers.
	Services func() []network.Service

	mu   sync.Mutex
	at   time.Time
	last []*dto.MetricFamily
}

// Gather returns the families of all programs, sorted by name, with the label program. oooi_program_scraped is 1 for each
// program that answered, and oooi_program_series_dropped counts its series beyond maxSeries.
func (s *Scrape) Gather() ([]*dto.MetricFamily, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && time.Since(s.at) < scrapeAgain {
		return s.last, nil
	}
	own, err := s.Own.Gather()
	if err != nil {
		return nil, err
	}
	of := map[string][]*dto.MetricFamily{wire.Failover: own}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, service := range s.Services() {
		asking.Go(func() {
			families, err := scrape(wire.Socket(s.RunDir, string(service)))
			if err != nil {
				families = nil
			}
			mu.Lock()
			defer mu.Unlock()
			of[string(service)] = families
		})
	}
	asking.Wait()
	s.last, s.at = merged(of), time.Now()
	return s.last, nil
}

func scrape(socket string) ([]*dto.MetricFamily, error) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	transport := rundir.Transport(socket)
	transport.DisableCompression, transport.MaxResponseHeaderBytes = true, 16<<10
	c := http.Client{Transport: transport}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://edge/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxScrape+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxScrape || resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %s, %d bytes", socket, resp.Status, len(b))
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return slices.Collect(maps.Values(families)), nil
}

// merged returns the known families of programs, sorted by name, with the label of their program. Container Failover
// decides the type of a family. If it does not have the family, the first program by name that has it decides.
func merged(of map[string][]*dto.MetricFamily) []*dto.MetricFamily {
	byName := map[string]*dto.MetricFamily{}
	scraped, dropped := metrics.ProgramScraped.Family(), metrics.ProgramSeriesDropped.Family()
	programs := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(metrics.Bool(b == wire.Failover), metrics.Bool(a == wire.Failover)), strings.Compare(a, b))
	})
	for _, program := range programs {
		label := &dto.LabelPair{Name: new(programLabel), Value: new(program)}
		scraped.Metric = append(scraped.Metric, &dto.Metric{Label: []*dto.LabelPair{label}, Gauge: &dto.Gauge{Value: new(metrics.Bool(of[program] != nil))}})
		families, tooMany := limited(of[program])
		dropped.Metric = append(dropped.Metric, &dto.Metric{Label: []*dto.LabelPair{label}, Gauge: &dto.Gauge{Value: new(float64(tooMany))}})
		for _, f := range families {
			into := byName[f.GetName()]
			if !passedOn(program, f.GetName()) || into != nil && into.GetType() != f.GetType() {
				continue
			}
			if into == nil {
				into = &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type}
				byName[f.GetName()] = into
			}
			for _, m := range f.GetMetric() {
				labels := slices.DeleteFunc(slices.Clone(m.GetLabel()), func(l *dto.LabelPair) bool { return l.GetName() == programLabel })
				into.Metric = append(into.Metric, &dto.Metric{
					Label: append(labels, label), Gauge: m.Gauge, Counter: m.Counter, Summary: m.Summary, Untyped: m.Untyped, Histogram: m.Histogram,
				})
			}
		}
	}
	byName[scraped.GetName()], byName[dropped.GetName()] = scraped, dropped
	return slices.SortedFunc(maps.Values(byName), func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
}

// limited returns the families that fit into maxSeries. Envoy's families come last, since they have several series for each
// backend. tooMany counts the series that do not fit.
func limited(all []*dto.MetricFamily) (out []*dto.MetricFamily, tooMany int) {
	all, left := slices.Clone(all), maxSeries
	slices.SortFunc(all, func(a, b *dto.MetricFamily) int {
		ofEnvoy := func(f *dto.MetricFamily) float64 { return metrics.Bool(strings.HasPrefix(f.GetName(), "envoy_")) }
		return cmp.Or(cmp.Compare(ofEnvoy(a), ofEnvoy(b)), strings.Compare(a.GetName(), b.GetName()))
	})
	for _, f := range all {
		if len(f.GetMetric()) > left {
			tooMany += len(f.GetMetric())
			continue
		}
		left -= len(f.GetMetric())
		out = append(out, f)
	}
	return out, tooMany
}

// passedOn reports whether a metric of program is its own, of Go, of the process, or of Envoy.
func passedOn(program, name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") || metrics.Exports(program, name) ||
		program == string(network.ServiceProxy) && strings.HasPrefix(name, "envoy_")
}
