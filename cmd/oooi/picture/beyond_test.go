package picture

import (
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/cmd/oooi/status"
	"github.com/cldmnky/oooi/test/blue"
	"github.com/cldmnky/oooi/test/facts"
	"github.com/cldmnky/oooi/test/golden"
	"github.com/cldmnky/oooi/test/netns"
)

// TestMapBeyondEdges: what VMs reach without edges, and which hosts edges answer besides VMs. What a gateway forwards is not
// refused.
func TestMapBeyondEdges(t *testing.T) {
	for story, c := range map[string]struct{ has, not []string }{
		"clients-beyond": {
			[]string{"10.9.0.0/16", "behind the gateway", "+-- 192.168.100.1, gateway\n", "every other address --> the gateway decides", "then 10.9.0.53:53"},
			[]string{"Every other address"}},
		"apps-load-balancer-on-network": {
			[]string{"+-- 192.168.100.80, load balancer on the network\n", "*.apps.blue.example.com --> 192.168.100.80", "Every other address", "all others refused"},
			[]string{"gateway decides"}},
		"apps-host-network": {[]string{"+-- 192.168.100.7, another host\n", "registry.example.com --> 192.168.100.7"}, nil},
		"published-services": {
			[]string{"then the management cluster's resolver", "the gateway decides"}, []string{"Every other address"}},
		"two-edges": {[]string{"next-hop VIP 192.168.100.2", "service VIP 192.168.100.3", "no router and no routes"}, nil},
	} {
		t.Run(story, func(t *testing.T) {
			g := NewWithT(t)
			text, _, code := oooi(t, "", "map", "-f", golden.Find(t, story).File(t, "objects.yaml"))
			g.Expect(code).To(BeZero())
			plain := strings.Join(strings.Fields(text), " ")
			for _, want := range c.has {
				if strings.HasSuffix(want, "\n") {
					g.Expect(text).To(ContainSubstring(want))
					continue
				}
				g.Expect(plain).To(ContainSubstring(strings.Join(strings.Fields(want), " ")))
			}
			for _, not := range c.not {
				g.Expect(plain).NotTo(ContainSubstring(not))
			}
		})
	}
}

// hostilePicture has long names, markup and other scripts in all that others write.
func hostilePicture() picture {
	const odd = "</style></text><script>alert(1)</script>\"'\u202e\u00e9\u6f22 "
	f := facts.Blue()
	n := &f.Plan.Networks[0]
	n.Attachment.Name = strings.Repeat("n", 253)
	f.Name = strings.Repeat("c", 63)
	f.Leases[0].VM = odd + strings.Repeat("v", 200)
	f.Leases[0].MAC = odd
	n.Listeners[0].Forwards[0].ServerNames = []string{strings.Repeat("s", 63) + "." + strings.Repeat("t-", 90) + "u", odd}
	n.Access = facts.Open().Plan.Networks[0].Access
	n.Access.Destinations[0].Name, n.Access.Accounts = strings.Repeat("d", 63)+"."+strings.Repeat("e-", 90)+"f", []string{strings.Repeat("a", 63) + "/" + strings.Repeat("b", 253)}
	n.Access.LoadBalancers.Services[0].HostedService = strings.Repeat("g", 63) + "/" + strings.Repeat("h", 63)
	n.Listeners[0].Forwards[0].Backend, n.Backends[0].Name = strings.Repeat("b", 90), strings.Repeat("b", 90)
	return pictureOf(status.OutputOf(f, blue.At), f.Plan)
}

// TestMapTextIsASCII: of at most 100 columns, and long names are whole.
func TestMapTextIsASCII(t *testing.T) {
	text := drawn(t, hostilePicture(), "text")
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > columns || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
	whole := regexp.MustCompile(`[\s|]`).ReplaceAllString(text, "")
	g := NewWithT(t)
	g.Expect(whole).To(ContainSubstring(strings.Repeat("s", 63) + "." + strings.Repeat("t-", 90) + "u"))
	g.Expect(whole).To(ContainSubstring("-->" + strings.Repeat("b", 90)))
	g.Expect(whole).To(ContainSubstring(strings.Repeat("v", 200)))
}

// TestMapPolicy: the page permits its own styles by their hashes, and nothing else.
func TestMapPolicy(t *testing.T) {
	g := NewWithT(t)
	page := drawn(t, hostilePicture(), "html")
	want := "default-src 'none'; style-src"
	for _, m := range regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(m[1]))
		want += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	g.Expect(page).To(ContainSubstring(`<meta http-equiv="Content-Security-Policy" content="` + want + `">`))
	g.Expect(page).NotTo(ContainSubstring("unsafe"))
	g.Expect(page).NotTo(MatchRegexp(`(?i)<[^>]* (style|on\w+)=`))
}

// measure is a script of this test. It lists each text that leaves the picture, or its box.
const measure = `<script>
const bad = [], svg = document.querySelector("svg"), all = svg.getBoundingClientRect();
for (const t of svg.querySelectorAll("text")) {
  const b = t.getBoundingClientRect(), rects = [...t.parentNode.querySelectorAll(":scope > rect:not(.vlan)")].map(r => r.getBoundingClientRect());
  const inside = r => b.left >= r.left && b.right <= r.right && b.top >= r.top - 1 && b.bottom <= r.bottom + 1;
  if (!inside(all) || rects.length && !rects.some(inside)) bad.push(t.textContent);
}
document.title = "measured";
document.body.textContent = "TEXTS " + svg.querySelectorAll("text").length + " BAD " + bad.length + " " + bad.join(" | ");
</script>`

// TestMapFitsInABrowser: with the fonts of a real browser, no text leaves its box.
func TestMapFitsInABrowser(t *testing.T) {
	netns.Require(t, "chromium")
	for name, p := range map[string]picture{"blue": bluePicture(), "hostile": hostilePicture()} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			page := filepath.Join(dir, "map.html")
			g.Expect(os.WriteFile(page, []byte("<!doctype html><meta charset=utf-8><body>"+p.svg()+measure), 0o600)).To(Succeed())
			out, err := netns.New(t).Command(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+dir,
				"--window-size=1500,900", "--dump-dom", "file://"+page).Output()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(out)).To(MatchRegexp(`TEXTS \d\d+ BAD 0 `))
		})
	}
}
