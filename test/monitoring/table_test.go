// This file writes the tables of docs/metrics.md from the metrics of the programs.

package monitoring

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cldmnky/oooi/test/golden"
)

// A described metric has these labels and this help text.
type described struct {
	labels []string
	help   string
}

// A describer registers nothing, and keeps what is described.
type describer map[string]described

// Register implements prometheus.Registerer.
func (d describer) Register(c prometheus.Collector) error {
	all := make(chan *prometheus.Desc, 100)
	go func() { c.Describe(all); close(all) }()
	for one := range all {
		m := regexp.MustCompile(`fqName: "(\w+)", help: "([^"]*)".*variableLabels: \{([^}]*)\}`).FindStringSubmatch(one.String())
		if m == nil {
			continue
		}
		var labels []string
		if m[3] != "" {
			labels = strings.Split(m[3], ",")
		}
		d[m[1]] = described{labels, m[2]}
	}
	return nil
}

// MustRegister implements prometheus.Registerer.
func (d describer) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = d.Register(c)
	}
}

// Unregister implements prometheus.Registerer.
func (d describer) Unregister(prometheus.Collector) bool { return false }

// TestGoldenMetrics: the tables of docs/metrics.md have the labels and the help texts of the programs. Only a real edge has the
// metrics of the proxy: of these, the texts are those of the source.
func TestGoldenMetrics(t *testing.T) {
	g, d := NewWithT(t), describer{}
	registerAll(g, d)
	helps := map[string]string{}
	for name, one := range d {
		helps[name] = one.help
	}
	for _, file := range []string{"proxy_metrics.go", "access_log.go", "dark_backends.go", "scrape.go"} {
		text := read(t, "edge", "agent", file)
		for _, m := range regexp.MustCompile(`(?:opts\(|NewDesc\(|Name:\s+)(?:new\()?"([a-z_]+)"\)?,[^"]*"([^"]+)"`).FindAllStringSubmatch(text, -1) {
			helps["oooi_proxy_"+strings.TrimPrefix(m[1], "oooi_proxy_")] = m[2]
			helps[m[1]] = m[2]
		}
	}
	row := regexp.MustCompile("(?m)^\\| `(oooi_[a-z_]+)` \\|([^|\n]*)\\|([^|\n]*)\\|$")
	want := row.ReplaceAllStringFunc(read(t, "docs", "metrics.md"), func(line string) string {
		m := row.FindStringSubmatch(line)
		g.Expect(helps).To(HaveKey(m[1]))
		labels := m[2]
		if one, known := d[m[1]]; known {
			if labels = " "; len(one.labels) > 0 {
				labels = " `" + strings.Join(one.labels, "`, `") + "` "
			}
		}
		return "| `" + m[1] + "` |" + labels + "| " + helps[m[1]] + " |"
	})
	golden.Check(t, filepath.Join("..", "..", "docs", "metrics.md"), []byte(want))
}
