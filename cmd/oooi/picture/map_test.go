package picture

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/network"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/facts"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/netns"
)

// bluePicture is that of a cluster that has lost an edge.
func bluePicture() picture {
	f := facts.Blue()
	return pictureOf(status.OutputOf(f, blue.At), f.Plan)
}

// drawn is what a picture is in one format.
func drawn(t *testing.T, p picture, format string) string {
	t.Helper()
	return drawings()[format](p)
}

// TestMapText: a lost edge and a refused host.
func TestMapText(t *testing.T) {
	NewWithT(t).Expect("\n" + drawn(t, bluePicture(), "text")).To(Equal(`
HostedCluster clusters/blue

Network clusters/vlan100, 192.168.100.0/24

  VMs
    192.168.100.20     blue-worker-1
     |
     |  next-hop VIP 192.168.100.2
     |  service VIP  192.168.100.3
     v
  Edges
    edge 1   192.168.100.4, ready, carries VMs
    edge 2   192.168.100.5, NOT READY
     |
     +-- 192.168.100.3:443
     |     ignition.blue.example.com --> ignition-server-proxy:443
     |     quay.io                   --> quay.io:443 (outside): edge 1: its address is refused
     |     any other name            --> vms:443
     |
     x     Every other address: there is no route, and edges forward nothing.
           Every other port and TLS server name: edges close the connection.
`))
}

// TestMapGolden: docs/map.svg is the picture of a cluster without a fault, which has two edges, and sends *.apps to its VMs.
func TestMapGolden(t *testing.T) {
	g := NewWithT(t)
	apps := "{apiVersion: v1, kind: Service, metadata: {name: blue-apps, namespace: clusters-blue}, spec: {type: LoadBalancer, ports: [{name: https, port: 443, targetPort: 30443}]}}"
	line, _, code := oooi(t, apps, "plan", "-o", "json", "--set", "edges=2", "-f", golden.Find(t, "lb-name").File(t, "objects.yaml"), "-f", "-")
	g.Expect(code).To(BeZero())
	var planned struct{ Plan network.Plan }
	g.Expect(json.Unmarshal([]byte(line), &planned)).To(Succeed())
	f := facts.Healthy(planned.Plan)
	p := pictureOf(status.OutputOf(f, blue.At), f.Plan)
	text := drawn(t, p, "text")
	for _, has := range []string{"kube-apiserver:6443\n", "konnectivity-server:8091\n", "*.apps.blue.example.com", "edge 2   192.168.100.5, ready"} {
		g.Expect(text).To(ContainSubstring(has))
	}
	svg := drawn(t, p, "svg")
	g.Expect(svg).NotTo(ContainSubstring(`class="bad`))
	golden.Check(t, filepath.Join("..", "..", "..", "docs", "map.svg"), []byte(svg))
}

// TestMapInABrowser: a real browser without a network shows the page, with what serves in green and what is lost in red.
func TestMapInABrowser(t *testing.T) {
	netns.Require(t, "chromium")
	g := NewWithT(t)
	dir := t.TempDir()
	page, shot := filepath.Join(dir, "map.html"), filepath.Join(dir, "map.png")
	g.Expect(os.WriteFile(page, []byte(drawn(t, bluePicture(), "html")), 0o600)).To(Succeed())
	c := netns.New(t).Command(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir, "--window-size=1500,400", "--screenshot="+shot, "file://"+page)
	said, err := c.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", said)
	file, err := os.Open(shot)
	g.Expect(err).NotTo(HaveOccurred(), "%s", said)
	defer func() { _ = file.Close() }()
	seen, err := png.Decode(file)
	g.Expect(err).NotTo(HaveOccurred())
	count := map[color.RGBA]int{}
	for x := range seen.Bounds().Dx() {
		for y := range seen.Bounds().Dy() {
			count[color.RGBAModel.Convert(seen.At(x, y)).(color.RGBA)]++
		}
	}
	g.Expect(count[color.RGBA{0xe6, 0xf4, 0xea, 255}]).To(BeNumerically(">", 4*2_000), "a VM, an edge, a name and a backend")
	g.Expect(count[color.RGBA{0xfd, 0xea, 0xea, 255}]).To(BeNumerically(">", 3*2_000), "an edge, a name and a host")
	g.Expect(count[color.RGBA{0x1d, 0x27, 0x33, 255}]).To(BeNumerically(">", 500), "text")
}

// TestMapStories: each plan is drawn with all its addresses and backends, in 100 columns. SVG is well-formed, and a page needs
// nothing from elsewhere.
func TestMapStories(t *testing.T) {
	for _, story := range golden.Stories(t) {
		t.Run(story.Name, func(t *testing.T) {
			g := NewWithT(t)
			file := story.File(t, "objects.yaml")
			lines, _, _ := oooi(t, "", "plan", "-o", "json", "-f", file)
			text, faults, code := oooi(t, "", "map", "-f", file)
			drawn := 0
			for line := range strings.Lines(lines) {
				var p struct {
					Cluster string
					Plan    *network.Plan
				}
				g.Expect(json.Unmarshal([]byte(line), &p)).To(Succeed())
				if p.Plan == nil {
					g.Expect(code).To(Equal(1))
					g.Expect(faults).To(ContainSubstring(p.Cluster))
					continue
				}
				drawn++
				g.Expect(text).To(ContainSubstring("HostedCluster " + p.Cluster))
				for _, n := range p.Plan.Networks {
					for _, l := range n.Listeners {
						g.Expect(text).To(ContainSubstring("+-- " + l.Name() + "\n"))
					}
					for _, b := range n.Backends {
						g.Expect(text).To(ContainSubstring("--> " + b.Name))
					}
					for _, d := range n.Access.Destinations {
						g.Expect(text).To(ContainSubstring(fmt.Sprintf("     |     %s:%d", d.Name, d.Port)))
					}
					for _, e := range n.Edges {
						g.Expect(text).To(ContainSubstring(e.Address.String()))
					}
				}
			}
			for line := range strings.Lines(text) {
				g.Expect(len([]rune(strings.TrimSuffix(line, "\n")))).To(BeNumerically("<=", columns), line)
			}
			if drawn != 1 || code != 0 {
				return
			}
			svg, _, code := oooi(t, "", "map", "-o", "svg", "-f", file)
			g.Expect(code).To(BeZero())
			g.Expect(wellFormed(svg)).To(Succeed())
			page, _, _ := oooi(t, "", "map", "-o", "html", "-f", file)
			for _, foreign := range []string{"<script", "href", "src=", "url(", "@import"} {
				g.Expect(page).NotTo(ContainSubstring(foreign))
			}
		})
	}
}

// wellFormed is an error if text is no XML.
func wellFormed(text string) error {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestMapIsNoMarkup: an edge that an attacker controls can write any text into its Leases.
func TestMapIsNoMarkup(t *testing.T) {
	g := NewWithT(t)
	f := facts.Blue()
	f.Leases[0].VM = "\"><script>alert(1)</script><g a=\"\x1b[31m"
	f.Plan.Networks[0].Listeners[0].Forwards[0].ServerNames = []string{"</title><img src=x>"}
	p := pictureOf(status.OutputOf(f, blue.At), f.Plan)
	for _, format := range []string{"svg", "html"} {
		text := drawn(t, p, format)
		g.Expect(text).NotTo(ContainSubstring("<script"), format)
		g.Expect(text).NotTo(ContainSubstring("<img"), format)
		g.Expect(text).To(ContainSubstring("&lt;script&gt;"), format)
	}
	g.Expect(wellFormed(drawn(t, p, "svg"))).To(Succeed())
	g.Expect(drawn(t, p, "text")).NotTo(ContainSubstring("\x1b"))
}

// TestMapOfManyVMs counts those that do not fit.
func TestMapOfManyVMs(t *testing.T) {
	f := facts.Blue()
	for range 30 {
		f.Leases = append(f.Leases, f.Leases[0])
	}
	NewWithT(t).Expect(drawn(t, pictureOf(status.OutputOf(f, blue.At), f.Plan), "text")).To(ContainSubstring("    and 19 more\n"))
}

// TestMapArguments: what cannot be drawn is said.
func TestMapArguments(t *testing.T) {
	g := NewWithT(t)
	for _, c := range []struct{ args, says string }{
		{"-f " + golden.Find(t, "two-clusters-apart").File(t, "objects.yaml") + " -o svg", "name one of 2"},
		{"-o png -f x", "want text, svg or html"},
		{"a/b/c -f x", "want NAME or NAMESPACE/NAME"},
		{"none -f " + golden.Find(t, "route").File(t, "objects.yaml"), "HostedCluster none not found"},
		{"clusters/none -f " + golden.Find(t, "route").File(t, "objects.yaml"), "not found"},
		{"-f /does/not/exist", "no such file"},
	} {
		_, faults, code := oooi(t, "", append([]string{"map"}, strings.Fields(c.args)...)...)
		g.Expect(code).To(Equal(1), c.args)
		g.Expect(faults).To(ContainSubstring(c.says), c.args)
	}
}
