package localaccess

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/access/dial"
	_ "github.com/cldmnky/oooi/test/patience"
	"github.com/cldmnky/oooi/test/programs"
)

// words is what a process writes. It can be read at any time.
type words struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// A running is `oooi access` in a process of its own.
type running struct {
	*exec.Cmd
	in          io.WriteCloser
	out, errors *words
	ended       chan struct{}
}

// access starts `oooi access` for the hosted cluster, with further arguments.
func (w *accessWorld) access(args ...string) *running {
	return startAccess(w.t, append([]string{"clusters/blue", "--kubeconfig", w.kubeconfig}, args...)...)
}

func startAccess(t *testing.T, args ...string) *running {
	t.Helper()
	path, env := programs.Self(t)
	r := &running{Cmd: exec.CommandContext(context.WithoutCancel(t.Context()), path, append([]string{"access"}, args...)...), out: &words{}, errors: &words{}, ended: make(chan struct{})}
	r.Env, r.Stdout, r.Stderr = env, r.out, r.errors
	var err error
	if r.in, err = r.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.Wait(); close(r.ended) }()
	t.Cleanup(func() { _ = r.Process.Kill(); <-r.ended })
	return r
}

// listens waits until it listens, and returns where.
func (r *running) listens(t *testing.T) string {
	t.Helper()
	NewWithT(t).Eventually(r.out.String, "1m").Should(MatchRegexp(`(?s)^http://127\.0\.0\.1:\d+\n`), "%s", r.errors)
	at, _, _ := strings.Cut(strings.TrimPrefix(r.out.String(), "http://"), "\n")
	return at
}

// TestAccessMovesToAnotherEdge: when the edge in use stops, its connections end, and the next one goes through the other edge, also to an
// edge that is new since.
func TestAccessMovesToAnotherEdge(t *testing.T) {
	for name, noSockets := range map[string]bool{"WebSocket": false, "SPDY": true} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newAccessWorld(t, 2, func(w *accessWorld) { w.noSockets = noSockets })
			w.host("192.168.100.50:7", echoes)
			r := w.access("--listen", "127.0.0.1:0")
			d := dial.Dialer{Proxy: r.listens(t)}
			connect := func(g Gomega) net.Conn {
				c, err := d.DialContext(t.Context(), "tcp", "worker-1:7")
				g.Expect(err).NotTo(HaveOccurred())
				_, err = io.WriteString(c, "one\n")
				g.Expect(err).NotTo(HaveOccurred())
				line, err := bufio.NewReader(c).ReadString('\n')
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(line).To(Equal("one\n"))
				return c
			}
			first := connect(g)
			g.Expect(r.errors.String()).To(BeEmpty())
			w.remove("edge-1")
			g.Expect(first.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
			_, err := first.Read(make([]byte, 1))
			g.Expect(err).To(HaveOccurred(), "it ends")
			g.Expect(os.IsTimeout(err)).To(BeFalse(), "%v", err)

			second := connect(g)
			g.Eventually(r.errors.String, "1m").Should(MatchRegexp(`oooi: edge edge-1 failed, using edge edge-2: .*not found`))
			g.Expect(strings.Count(r.errors.String(), "edge edge-1 failed")).To(Equal(1))
			_ = connect(g).Close()
			g.Expect(strings.Count(r.errors.String(), "edge edge-1 failed")).To(Equal(1), "the edge that works is used first")
			w.edge("edge-3", "blue")
			w.remove("edge-2")
			_ = connect(g).Close()
			g.Eventually(r.errors.String).Should(ContainSubstring("edge edge-2 failed, using edge edge-3"))
			_ = second.Close()
			w.mu.Lock()
			defer w.mu.Unlock()
			g.Expect(w.upgrades[0]).To(Equal(http.MethodGet))
			if noSockets {
				g.Expect(w.upgrades[1:]).To(HaveEach(http.MethodPost), "what fails is not tried again")
				return
			}
			g.Expect(w.upgrades[len(w.upgrades)-1]).To(Equal(http.MethodGet))
		})
	}
}

// TestAccessStdio: each direction ends by itself, also if the runtime of the edge ends both at once, and a connection that is lost is an
// error.
func TestAccessStdio(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 1, nil)
	w.host("192.168.100.50:7", counts)
	w.host("192.168.100.50:22", leaves)
	stdio := []string{"access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--stdio"}
	out, errs, code := oooi(t, strings.Repeat("x", 200_000), append(stdio, "worker-1:7")...)
	g.Expect([]any{out, errs, code}).To(Equal([]any{"200000 bytes\n", "", 0}), "the destination answers after the end of standard input")

	r := w.access("--stdio", "worker-1:22")
	g.Eventually(r.out.String, "1m").Should(Equal("hello\n"))
	g.Consistently(r.ended, "300ms").ShouldNot(BeClosed(), "it can still be sent to")
	g.Expect(r.in.Close()).To(Succeed())
	g.Eventually(r.ended, "1m").Should(BeClosed())
	g.Expect(r.ProcessState.ExitCode()).To(Equal(0), "%s", r.errors)

	w.mu.Lock()
	w.cuts = true
	w.mu.Unlock()
	r = w.access("--stdio", "worker-1:22")
	g.Eventually(r.ended, "1m").Should(BeClosed(), "nothing more is carried, so it ends with standard input still open")
	g.Expect(r.out.String()).To(Equal("hello\n"))
	g.Expect(r.ProcessState.ExitCode()).To(Equal(0), "%s", r.errors)

	w.host("192.168.100.50:22", greets)
	r = w.access("--stdio", "worker-1:22")
	g.Eventually(r.out.String, "1m").Should(Equal("hello\n"))
	w.cut()
	g.Eventually(r.ended, "1m").Should(BeClosed())
	g.Expect(r.ProcessState.ExitCode()).To(Equal(1))
	g.Expect(r.errors.String()).To(Equal("oooi: worker-1:22: the connection to the edge is lost\n"))
}

// TestAccessRefused: the words of the proxy reach the user and the program, and a page of a browser gets nothing.
func TestAccessRefused(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 2, nil)
	_, errs, code := oooi(t, "", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--stdio", "worker-1:23")
	g.Expect(code).To(Equal(1))
	g.Expect(errs).To(Equal("oooi: worker-1:23: 403 the destination is not open. Check annotations management-access and management-access-accounts of HostedCluster clusters/blue\n"))

	r := w.access("--listen", "127.0.0.1:0")
	at := r.listens(t)
	_, err := dial.Dialer{Proxy: at}.DialContext(t.Context(), "tcp", "worker-9:22")
	var refused *dial.RefusedError
	g.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
	g.Expect([]any{refused.Status, refused.Reason}).To(Equal([]any{403, dial.NoVM}))
	g.Eventually(r.errors.String, "1m").Should(HavePrefix("oooi: worker-9:22: 403 no VM with a DHCP lease has this name or address. "))
	g.Expect(r.errors.String()).NotTo(ContainSubstring("annotation"), "these are right")
	g.Expect(r.errors.String()).NotTo(ContainSubstring("does not work"), "another edge refuses it, too")
	w.edge("edge-3", "another")
	w.edge("edge-4", "z")
	_, errs, _ = oooi(t, "", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--stdio", "worker-9:7")
	g.Expect(errs).To(Equal("oooi: worker-9:7: 403 no VM with a DHCP lease has this name or address. oooi status clusters/blue lists the leases of VMs\n"),
		"the network that opens this port of VMs counts, in whatever order")
	resp, err := http.Get("http://" + at + "/")
	g.Expect(err).NotTo(HaveOccurred())
	_ = resp.Body.Close()
	g.Expect(resp.StatusCode).To(Equal(405))
}

// TestAccessHTTP: programs that send no CONNECT for http:// URLs are served, too, with the token of the caller.
func TestAccessHTTP(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 1, func(w *accessWorld) { w.accounts = []string{"backup/tool"} })
	w.host("192.168.100.50:9100", exposes)
	r := w.access("--listen", "127.0.0.1:0")
	proxy := &url.URL{Scheme: "http", Host: r.listens(t)}
	get := func(host, token string) string {
		transport := &http.Transport{Proxy: http.ProxyURL(proxy), ProxyConnectHeader: http.Header{}, DisableKeepAlives: true}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/metrics", nil)
		g.Expect(err).NotTo(HaveOccurred())
		if token != "" {
			req.Header.Set("Proxy-Authorization", "Bearer "+token)
		}
		resp, err := transport.RoundTrip(req)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		g.Expect(err).NotTo(HaveOccurred())
		return fmt.Sprint(resp.StatusCode, " ", string(b))
	}
	token := w.token("backup", "tool")
	g.Expect(get("worker-1:9100", token)).To(Equal("200 up worker-1:9100/metrics\n"))
	g.Expect(get("worker-1:9101", token)).To(Equal("403 the destination is not open\n"))
	g.Expect(get("worker-1:9100", "")).To(Equal("401 a token is missing\n"))
	g.Eventually(r.errors.String, "1m").Should(ContainSubstring("worker-1:9100: 401 a token is missing. Name a token with --token-file or --as-account\n"))
	g.Expect(r.errors.String()).NotTo(ContainSubstring(token))
}

// TestAccessTokenFile: with an access proxy and without a cluster, the file is read for each connection, and its content is never shown.
func TestAccessTokenFile(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 1, func(w *accessWorld) { w.accounts = []string{"backup/tool"} })
	w.host("192.168.100.50:7", counts)
	file := filepath.Join(t.TempDir(), "token")
	r := startAccess(t, "--proxy", "http://"+w.edges[0].at, "--token-file", file, "--listen", "127.0.0.1:0")
	at := r.listens(t)
	status := func() (string, int) {
		c, err := dial.Dialer{Proxy: at}.DialContext(t.Context(), "tcp", "worker-1:7")
		var refused *dial.RefusedError
		if errors.As(err, &refused) {
			return refused.Reason, refused.Status
		}
		g.Expect(err).NotTo(HaveOccurred())
		_, err = io.WriteString(c, "12345")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.(interface{ CloseWrite() error }).CloseWrite()).To(Succeed())
		b, err := io.ReadAll(c)
		g.Expect(err).NotTo(HaveOccurred())
		return string(b), 200
	}
	why, code := status()
	g.Expect(code).To(Equal(502))
	g.Expect(why).To(ContainSubstring("no such file"))
	for _, x := range []struct {
		account string
		code    int
		why     string
	}{{"other", 403, "the ServiceAccount is not admitted"}, {"tool", 200, "5 bytes\n"}, {"other", 403, "the ServiceAccount is not admitted"}} {
		token := w.token("backup", x.account)
		g.Expect(os.WriteFile(file, []byte(token+"\n"), 0o600)).To(Succeed())
		why, code := status()
		g.Expect([]any{code, why}).To(Equal([]any{x.code, x.why}))
		g.Expect(r.errors.String() + r.out.String()).NotTo(ContainSubstring(token))
	}
	g.Expect(os.WriteFile(file, []byte("a secret\n"), 0o600)).To(Succeed())
	why, code = status()
	g.Expect(code).To(Equal(502))
	g.Expect(why + r.errors.String()).NotTo(ContainSubstring("secret"))
}

// TestAccessAccount: the API server gives a token of the account that the user names, for the proxy only.
func TestAccessAccount(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 2, func(w *accessWorld) { w.accounts = []string{"backup/tool"} })
	w.host("192.168.100.50:7", counts)
	ask := func(account string) (string, string, int) {
		return oooi(t, "12345", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--as-account", account, "--stdio", "worker-1:7")
	}
	out, errs, code := ask("backup/tool")
	g.Expect([]any{out, errs, code}).To(Equal([]any{"5 bytes\n", "", 0}))
	g.Expect(w.asked).To(HaveLen(1))
	g.Expect(w.asked[0].Spec.Audiences).To(Equal([]string{"oooi-access.clusters-blue"}))
	g.Expect(*w.asked[0].Spec.ExpirationSeconds).To(Equal(int64(3600)))
	_, errs, code = ask("backup/other")
	g.Expect(code).To(Equal(1))
	g.Expect(errs).To(ContainSubstring("403 the ServiceAccount is not admitted"))
	w.forbids = "serviceaccounts/token"
	_, errs, code = ask("backup/tool")
	g.Expect(code).To(Equal(1))
	g.Expect(errs).To(ContainSubstring("you may not create serviceaccounts/token of backup/tool"))
	g.Expect(errs).NotTo(ContainSubstring("does not work"))
}

// TestAccessCommand: the command's connections go through the proxy, its exit code is that of oooi, and a signal is for it.
func TestAccessCommand(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 1, nil)
	w.host("192.168.100.50:9100", exposes)
	t.Setenv("NO_PROXY", "worker-1")
	t.Setenv("https_proxy", "http://192.0.2.1:1")
	out, errs, code := oooi(t, "in", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--", "sh", "-c", "cat; echo \" $HTTPS_PROXY $http_proxy $NO_PROXY.\"; exit 7")
	g.Expect(out).To(MatchRegexp(`^in http://127\.0\.0\.1:(\d+) http://127\.0\.0\.1:\d+ \.\n$`))
	g.Expect([]any{errs, code}).To(Equal([]any{"", 7}))
	out, errs, code = oooi(t, "", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--", programs.RequireInstalled(t, "curl"), "-s", "-p", "http://worker-1:9100/metrics")
	g.Expect([]any{out, errs, code}).To(Equal([]any{"up worker-1:9100/metrics\n", "", 0}), "with CONNECT")
	for script, want := range map[string]int{"exit 0": 0, "kill -TERM $$": 143} {
		_, errs, code := oooi(t, "", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--", "sh", "-c", script)
		g.Expect([]any{errs, code}).To(Equal([]any{"", want}), script)
	}
	_, errs, code = oooi(t, "", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--", "/no/such/program")
	g.Expect(code).To(Equal(127))
	g.Expect(errs).To(ContainSubstring("no such file"))

	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		// The one that is killed says that it is ready: before, it has its parent's traps.
		r := w.access("--", "sh", "-c", `trap 'kill $!; exit 9' INT TERM; sh -c 'echo ready; exec sleep 600' & wait`)
		g.Eventually(r.out.String, "1m").Should(Equal("ready\n"), "%s", r.errors)
		g.Expect(r.Process.Signal(signal)).To(Succeed())
		g.Eventually(r.ended, "1m").Should(BeClosed())
		g.Expect(r.ProcessState.ExitCode()).To(Equal(9), "the command decides what a signal does")
	}
}

// TestAccessEnds: Ctrl-C ends the proxy and its connections.
func TestAccessEnds(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 1, nil)
	w.host("192.168.100.50:22", greets)
	r := w.access("--listen", "127.0.0.1:0")
	c, err := dial.Dialer{Proxy: r.listens(t)}.DialContext(t.Context(), "tcp", "worker-1:22")
	g.Expect(err).NotTo(HaveOccurred())
	in := bufio.NewReader(c)
	g.Expect(in.ReadString('\n')).To(Equal("hello\n"))
	g.Expect(r.Process.Signal(os.Interrupt)).To(Succeed())
	g.Eventually(r.ended, "1m").Should(BeClosed())
	g.Expect(r.ProcessState.ExitCode()).To(Equal(0), "%s", r.errors)
	_, err = in.ReadByte()
	g.Expect(err).To(HaveOccurred())

	r = w.access("--stdio", "worker-1:22")
	g.Eventually(r.out.String, "1m").Should(Equal("hello\n"))
	g.Expect(r.Process.Signal(os.Interrupt)).To(Succeed())
	g.Eventually(r.ended, "1m").Should(BeClosed())
	g.Expect(r.ProcessState.ExitCode()).To(Equal(1))
}

// TestAccessSSH: OpenSSH speaks with a server of the network.
func TestAccessSSH(t *testing.T) {
	ssh := programs.RequireInstalled(t, "ssh")
	g := NewWithT(t)
	w := newAccessWorld(t, 2, nil)
	banner := make(chan string, 1)
	w.host("192.168.100.50:22", func(c *net.TCPConn) {
		_, _ = io.WriteString(c, "SSH-2.0-played\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		banner <- line
	})
	path, env := programs.Self(t)
	c := exec.CommandContext(t.Context(), ssh, "-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "ProxyCommand="+path+" access clusters/blue --kubeconfig "+w.kubeconfig+" --stdio %h:%p", "core@worker-1")
	c.Env = env
	said, err := c.CombinedOutput()
	g.Expect(err).To(HaveOccurred(), "the played server has no keys")
	g.Eventually(banner, "1m").Should(Receive(HavePrefix("SSH-2.0-OpenSSH")), "%s", said)
}
