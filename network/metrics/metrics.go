// Package metrics has one table of the metrics of all programs, for registration, documentation and checks. It decides
// which metrics an edge passes on.
package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// A Program exports metrics: the operator, or a program of an edge.
type Program string

const (
	Operator Program = "operator"
	Failover Program = "failover"
	DHCP     Program = "dhcp"
	DNS      Program = "dns"
	Proxy    Program = "proxy"
	Access   Program = "access"
	NTP      Program = "ntp"
)

// A Metric is one row of the table. Programs write to it as a Counter, Gauge, Histogram, Function or Own metric.
type Metric struct {
	Name    string
	Of      Program
	Type    dto.MetricType
	Help    string
	Labels  []string
	Buckets []float64
	// computed is true if Register registers no series for the metric.
	computed bool
}

// Counters, gauges and histograms have a series for each set of labels. A Function is computed when it is read. A program
// writes the series of an Own metric itself.
type (
	Counter   struct{ Metric }
	Gauge     struct{ Metric }
	Histogram struct{ Metric }
	Function  struct{ Metric }
	Own       struct{ Metric }
)

// table has all rows. It does not change after initialization.
var table []Metric

// Table returns the metrics of all programs, in the order of the documentation.
func Table() []Metric { return slices.Clone(table) }

func row(m Metric) Metric {
	table = append(table, m)
	return m
}

func counter(of Program, name, help string, labels ...string) Counter {
	return Counter{row(Metric{Name: name, Of: of, Type: dto.MetricType_COUNTER, Help: help, Labels: labels})}
}

func gauge(of Program, name, help string, labels ...string) Gauge {
	return Gauge{row(Metric{Name: name, Of: of, Type: dto.MetricType_GAUGE, Help: help, Labels: labels})}
}

func histogram(of Program, name, help string, buckets []float64, labels ...string) Histogram {
	return Histogram{row(Metric{Name: name, Of: of, Type: dto.MetricType_HISTOGRAM, Help: help, Labels: labels, Buckets: buckets})}
}

func function(of Program, name, help string) Function {
	return Function{row(Metric{Name: name, Of: of, Type: dto.MetricType_GAUGE, Help: help, computed: true})}
}

func own(of Program, name, help string, labels ...string) Own {
	return Own{row(Metric{Name: name, Of: of, Type: dto.MetricType_GAUGE, Help: help, Labels: labels, computed: true})}
}

// Family returns the metric as a family without series.
func (m Metric) Family() *dto.MetricFamily {
	return &dto.MetricFamily{Name: new(m.Name), Type: m.Type.Enum(), Help: new(m.Help)}
}

// Desc returns the description of the metric that Prometheus' collectors need.
func (o Own) Desc() *prometheus.Desc { return prometheus.NewDesc(o.Name, o.Help, o.Labels, nil) }

// A Set has the registered metrics of one program.
type Set struct {
	registry prometheus.Registerer
	vectors  map[string]prometheus.Collector
}

// Register registers the metrics of a program with r. Counters and gauges without labels start at 0.
func Register(r prometheus.Registerer, of Program) Set {
	s := Set{r, map[string]prometheus.Collector{}}
	for _, m := range table {
		if m.Of != of || m.computed {
			continue
		}
		switch m.Type {
		case dto.MetricType_COUNTER:
			s.vectors[m.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, m.Labels)
		case dto.MetricType_GAUGE:
			s.vectors[m.Name] = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, m.Labels)
		case dto.MetricType_HISTOGRAM:
			s.vectors[m.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.Name, Help: m.Help, Buckets: m.Buckets}, m.Labels)
		}
		r.MustRegister(s.vectors[m.Name])
		if len(m.Labels) > 0 {
			continue
		}
		switch v := s.vectors[m.Name].(type) {
		case *prometheus.CounterVec:
			v.WithLabelValues()
		case *prometheus.GaugeVec:
			v.WithLabelValues()
		}
	}
	return s
}

// RegisterProcess registers with r what every program has: the metrics of Go, and those of its process.
func RegisterProcess(r prometheus.Registerer) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Counter returns the series of a counter.
func (s Set) Counter(c Counter) *prometheus.CounterVec {
	return s.vectors[c.Name].(*prometheus.CounterVec)
}

// Gauge returns the series of a gauge.
func (s Set) Gauge(g Gauge) *prometheus.GaugeVec { return s.vectors[g.Name].(*prometheus.GaugeVec) }

// SetBool sets a series of g to 1 if yes is true, else to 0, in one step.
func (s Set) SetBool(g Gauge, yes bool, labels ...string) {
	s.Gauge(g).WithLabelValues(labels...).Set(Bool(yes))
}

// Histogram returns the series of a histogram.
func (s Set) Histogram(h Histogram) *prometheus.HistogramVec {
	return s.vectors[h.Name].(*prometheus.HistogramVec)
}

// Forget removes all series that have these labels.
func (s Set) Forget(labels prometheus.Labels) {
	for _, c := range s.vectors {
		c.(interface{ DeletePartialMatch(prometheus.Labels) int }).DeletePartialMatch(labels)
	}
}

// Compute registers value as the function that computes the metric f.
func (s Set) Compute(f Function, value func() float64) {
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, value))
}

// Exports reports whether program, a program of an edge, has the metric name.
func Exports(program, name string) bool {
	return slices.ContainsFunc(table, func(m Metric) bool { return string(m.Of) == program && m.Name == name })
}

// Bool returns 1 for true and 0 for false.
func Bool(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
