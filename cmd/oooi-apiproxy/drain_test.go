package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestDrain: a stream such as that of exec has the time of --drain, and the probe says that the proxy stops.
func TestDrain(t *testing.T) {
	g := NewWithT(t)
	upstream := listen(t, func(w http.ResponseWriter, _ *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.Copy(c, rw)
	})
	r, file := sidecar(t, "--server", upstream, "--insecure", "--health-listen", "127.0.0.1:0", "--drain", "1h")
	config := configOf(t, file)
	c, err := tls.Dial("tcp", r.address(), &tls.Config{RootCAs: poolOf(t, config.CAData), MinVersion: tls.VersionTLS12})
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = c.Close() }()
	_, err = fmt.Fprintf(c, "GET /api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", config.BearerToken)
	g.Expect(err).NotTo(HaveOccurred())
	stream := bufio.NewReader(c)
	answer, err := http.ReadResponse(stream, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(answer.StatusCode).To(Equal(http.StatusSwitchingProtocols))

	health := regexp.MustCompile(`"msg":"health started","address":"([^"]+)"`).FindStringSubmatch(r.out.String())[1]
	g.Expect(r.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Eventually(func() string { return get(t, http.DefaultClient, "http://"+health+"/readyz") }, time.Minute).Should(Equal("503 stopping\n"))
	g.Eventually(func() error {
		other, err := tls.Dial("tcp", r.address(), &tls.Config{RootCAs: poolOf(t, config.CAData), MinVersion: tls.VersionTLS12})
		if err == nil {
			_ = other.Close()
		}
		return err
	}, time.Minute).Should(HaveOccurred(), "new clients go elsewhere")
	_, err = io.WriteString(c, "echo\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stream.ReadString('\n')).To(Equal("echo\n"))
	g.Expect(get(t, http.DefaultClient, "http://"+health+"/readyz")).To(Equal("503 stopping\n"))
	g.Expect(c.Close()).To(Succeed())
	g.Eventually(func() string { return get(t, http.DefaultClient, "http://"+health+"/livez") }, time.Minute).Should(ContainSubstring("refused"), "it ends with the stream")
}
