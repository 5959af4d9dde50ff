package docs

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/programs"
)

var (
	siteLink = regexp.MustCompile(`href="([^":]*)#([^"]+)"`)
	siteID   = regexp.MustCompile(`id="([^"]+)"`)
)

// TestSite: mkdocs makes a site of the documentation. It has each page, and the section of each link exists.
func TestSite(t *testing.T) {
	g := NewWithT(t)
	mkdocs := programs.RequireInstalled(t, "mkdocs")
	site := t.TempDir()
	c := exec.CommandContext(t.Context(), mkdocs, "build", "--quiet", "--config-file", filepath.Join("..", "..", "mkdocs.yml"), "--site-dir", site)
	c.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := c.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", out)
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	g.Expect(err).NotTo(HaveOccurred())
	read := func(page string) string {
		text, err := os.ReadFile(filepath.Join(site, page, "index.html"))
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
	for _, p := range pages {
		name := filepath.Base(p)
		page := strings.TrimSuffix(strings.TrimSuffix(name, ".md"), "index")
		for _, link := range siteLink.FindAllStringSubmatch(read(page), -1) {
			to := path.Join(page, link[1])
			ids := siteID.FindAllStringSubmatch(read(to), -1)
			g.Expect(ids).To(ContainElement(HaveExactElements(Not(BeEmpty()), link[2])), "%s: link to section %s of %s", name, link[2], to)
		}
	}
}
