package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestIdentityLasts: a sidecar that starts again has the certificate and the token that its clients have read.
func TestIdentityLasts(t *testing.T) {
	now := time.Now()
	for name, row := range map[string]struct {
		change func(g Gomega, file string)
		at     string
		after  time.Time
		kept   bool
	}{
		"nothing":       {func(Gomega, string) {}, "127.0.0.1:1", now, true},
		"another port":  {func(Gomega, string) {}, "127.0.0.1:2", now, true},
		"another host":  {func(Gomega, string) {}, "127.0.0.2:1", now, false},
		"old":           {func(Gomega, string) {}, "127.0.0.1:1", now.AddDate(9, 6, 0), false},
		"no kubeconfig": {func(g Gomega, file string) { g.Expect(os.Remove(file)).To(Succeed()) }, "127.0.0.1:1", now, false},
		"no key":        {func(g Gomega, file string) { g.Expect(os.Remove(keyFile(file))).To(Succeed()) }, "127.0.0.1:1", now, false},
		"mode":          {func(g Gomega, file string) { g.Expect(os.Chmod(file, 0o640)).To(Succeed()) }, "127.0.0.1:1", now, false},
		"mode of key":   {func(g Gomega, file string) { g.Expect(os.Chmod(keyFile(file), 0o644)).To(Succeed()) }, "127.0.0.1:1", now, false},
		"broken":        {func(g Gomega, file string) { g.Expect(os.WriteFile(file, []byte("{"), 0o600)).To(Succeed()) }, "127.0.0.1:1", now, false},
		"another key": {func(g Gomega, file string) {
			other, err := newIdentity("127.0.0.1:1", now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(writePrivate(keyFile(file), other.key)).To(Succeed())
		}, "127.0.0.1:1", now, false},
		"a link": {func(g Gomega, file string) {
			g.Expect(os.Rename(file, file+".target")).To(Succeed())
			g.Expect(os.Symlink(file+".target", file)).To(Succeed())
		}, "127.0.0.1:1", now, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			file := filepath.Join(t.TempDir(), "kubeconfig")
			first, kept, err := identityOf(file, "127.0.0.1:1", now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kept).To(BeFalse())
			g.Expect(first.write(file)).To(Succeed())
			row.change(g, file)
			second, kept, err := identityOf(file, row.at, row.after)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(kept).To(Equal(row.kept))
			g.Expect(second.token == first.token).To(Equal(row.kept))
			g.Expect(second.write(file)).To(Succeed())
			info, err := os.Lstat(file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(info.Mode()).To(Equal(os.FileMode(0o600)), "a link is replaced")
			g.Expect(configOf(t, file).Host).To(Equal("https://" + row.at))
			g.Expect(configOf(t, file).CAData).To(Equal(second.ca))
		})
	}
}
