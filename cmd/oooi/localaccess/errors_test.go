package localaccess

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/edge/wire"
)

// TestAccessErrors: each names what the user can do.
func TestAccessErrors(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = taken.Close() })
	for name, x := range map[string]struct {
		world func(w *accessWorld)
		args  []string
		want  string
	}{
		"no edges":        {func(w *accessWorld) { w.edges = nil }, nil, "HostedCluster clusters/blue has no edges. oooi status clusters/blue shows why"},
		"no annotation":   {func(w *accessWorld) { w.edges[0].Spec.Containers[1].Name = "ntp" }, nil, "opens no destination. Set its annotation hostedcluster.densityops.com/management-access, such as to nodes:22,nodes:10250"},
		"none is Ready":   {func(w *accessWorld) { w.edges[0].Status.Conditions = nil }, nil, "no edge of HostedCluster clusters/blue is Ready. oooi status clusters/blue shows why"},
		"no such network": {nil, []string{"--network", "red"}, "--network red: none of its edges has an access proxy. Networks whose edges have one: blue"},
		"may not list":    {func(w *accessWorld) { w.forbids = "pods" }, nil, "you may not list pods in namespace clusters-blue: "},
		"may not forward": {func(w *accessWorld) { w.forbids = "pods/portforward" }, nil, "you may not create pods/portforward in namespace clusters-blue: "},
		"port in use":     {nil, []string{"--listen", taken.Addr().String()}, "address already in use. Name another address, or port 0 for any free one"},
		"edge is lost":    {func(w *accessWorld) { w.edges[0].stop() }, nil, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newAccessWorld(t, 1, nil)
			if x.world != nil {
				x.world(w)
			}
			args := append([]string{"access", "clusters/blue", "--kubeconfig", w.kubeconfig}, x.args...)
			if !strings.Contains(strings.Join(args, " "), "--listen") {
				args = append(args, "--stdio", "worker-1:22")
			}
			_, errs, code := oooi(t, "", args...)
			g.Expect(code).To(Equal(1))
			g.Expect(errs).To(And(HavePrefix("oooi: "), ContainSubstring(x.want)))
			g.Expect(strings.Count(errs, "\n")).To(Equal(1))
			g.Expect(errs).NotTo(ContainSubstring("the-users-secret"))
			if strings.HasPrefix(name, "may not") {
				g.Expect(errs).To(ContainSubstring("docs/management-access.md#from-a-laptop has a Role"))
			}
		})
	}
}

// TestAccessArguments: what does not fit together is refused before anything is opened.
func TestAccessArguments(t *testing.T) {
	for args, want := range map[string]string{
		"":                                              "name a HostedCluster, or an access proxy with --proxy",
		"clusters/":                                     "clusters/: want NAME or NAMESPACE/NAME of a HostedCluster",
		"clusters/blue ssh core@worker-1":               "unexpected argument ssh: write -- before a command",
		"clusters/blue --":                              "-- must be followed by a command",
		"clusters/blue --stdio worker-1":                "--stdio worker-1: want DESTINATION:PORT, such as worker-1:22",
		"clusters/blue --stdio :22":                     "--stdio :22: want DESTINATION:PORT",
		"clusters/blue --stdio a:0":                     "--stdio a:0: want DESTINATION:PORT",
		"clusters/blue --stdio a:1 -- b":                "--stdio does not listen",
		"clusters/blue --proxy http://a":                "--proxy names an access proxy: remove the name or the namespace of the HostedCluster",
		"--proxy http://a --network b":                  "--proxy uses no cluster",
		"--proxy https://a":                             "--proxy: want http://HOST:PORT",
		"--proxy http://jo:secret@a":                    "--proxy: want http://HOST:PORT",
		"--proxy http://jo:se%zcret@a":                  "--proxy: want http://HOST:PORT",
		"clusters/blue --as-account backup":             "--as-account backup: want NAMESPACE/NAME of a ServiceAccount",
		"clusters/blue --as-account a/b --token-file c": "none of the others can be",
	} {
		g := NewWithT(t)
		_, errs, code := oooi(t, "", append([]string{"access"}, strings.Fields(args)...)...)
		g.Expect(code).To(Equal(1), args)
		g.Expect(errs).To(ContainSubstring(want), args)
		g.Expect(errs).NotTo(Or(ContainSubstring("secret"), ContainSubstring("cret@")), args)
	}
}

// TestAccessListenWarns of an address that others reach.
func TestAccessListenWarns(t *testing.T) {
	g := NewWithT(t)
	for address, warns := range map[string]bool{"127.0.0.1:0": false, "localhost:0": false, ":0": true, "0.0.0.0:0": true} {
		l, warning, err := listenAt(t.Context(), address)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(warning != "").To(Equal(warns), address)
		g.Expect(strings.Count(warning, "\n")).To(BeZero())
		g.Expect(localURL(l)).To(HavePrefix("http://127.0.0.1:"), "programs of this machine reach it there")
		_ = l.Close()
	}
	g.Expect(proxyAddress("http://[fd00::1]/")).To(Equal("[fd00::1]:3128"))
	g.Expect(proxyAddress("http://a:80")).To(Equal("a:80"))
}

// TestAccessCompletes: names of hosted clusters, and then files of a command.
func TestAccessCompletes(t *testing.T) {
	g := NewWithT(t)
	c := New()
	g.Expect(c.Flags().Parse([]string{"clusters/blue", "--"})).To(Succeed())
	_, directive := c.ValidArgsFunction(c, []string{"clusters/blue"}, "")
	g.Expect(directive).To(BeZero())
	c = New()
	g.Expect(c.Flags().Parse([]string{"clusters/blue"})).To(Succeed())
	_, directive = c.ValidArgsFunction(c, []string{"clusters/blue"}, "")
	g.Expect(directive).NotTo(BeZero())
}

// TestAccessEdges: only pods with an access proxy that are not deleted, by name.
func TestAccessEdges(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 0, nil)
	b, a, deleted, without, unready := w.edge("b", "blue").Pod, w.edge("a", "red").Pod, w.edge("c", "blue").Pod, w.edge("d", "blue").Pod, w.edge("e", "blue").Pod
	now := time.Now()
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	without.Spec.Containers = without.Spec.Containers[:1]
	unready.Status.Conditions = nil
	all := accessEdges([]corev1.Pod{b, a, deleted, without, unready})
	g.Expect(all).To(Equal([]accessEdge{{"a", wire.NetworkLabel("red"), 3128, true}, {"b", wire.NetworkLabel("blue"), 3128, true}, {"e", wire.NetworkLabel("blue"), 3128, false}}))
	name := client.ObjectKey{Namespace: "clusters", Name: "blue"}
	g.Expect(usable(name, 5, all, "")).To(HaveLen(2))
	g.Expect(usable(name, 5, all, wire.NetworkLabel("blue"))).To(Equal(all[1:2]))
}

// TestAccessNetworks: a destination that the first network does not open is reached through the second.
func TestAccessNetworks(t *testing.T) {
	g := NewWithT(t)
	w := newAccessWorld(t, 1, nil)
	w.edge("other-1", "second")
	w.host("192.168.100.60:7", counts)
	out, errs, code := oooi(t, "12345", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--stdio", "192.168.100.60:7")
	g.Expect([]any{out, errs, code}).To(Equal([]any{"5 bytes\n", "", 0}))
	_, _, code = oooi(t, "", "access", "clusters/blue", "--kubeconfig", w.kubeconfig, "--network", "blue", "--stdio", "192.168.100.60:7")
	g.Expect(code).To(Equal(1))
}

// TestAccessNetworkLost: a network whose edges do not answer, or are gone, does not hide the next one.
func TestAccessNetworkLost(t *testing.T) {
	lost, gone := errors.New("lost"), errors.New("gone")
	for name, x := range map[string]struct {
		first, second error
		want          any
	}{
		"lost":                     {first: lost},
		"gone":                     {first: gone},
		"closed":                   {first: &dial.RefusedError{Status: 403}},
		"both lost":                {first: lost, second: errors.New("lost later"), want: "access proxy: lost"},
		"both gone":                {first: gone, second: gone, want: MatchRegexp("gone|no edge of the network is Ready")},
		"both closed":              {first: &dial.RefusedError{Status: 403, Reason: "one"}, second: &dial.RefusedError{Status: 403, Reason: "two"}, want: ContainSubstring("403 one")},
		"closed, lost":             {first: &dial.RefusedError{Status: 403}, second: lost, want: "access proxy: lost"},
		"lost, closed":             {first: lost, second: &dial.RefusedError{Status: 403}, want: "access proxy: lost"},
		"the destination is lost":  {first: &dial.RefusedError{Status: 502, Reason: "one"}, want: ContainSubstring("502 one")},
		"you may not":              {first: errForbidden, want: errForbidden},
		"the token cannot be read": {first: dial.ErrToken, want: dial.ErrToken},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			faults := map[string]error{"a": x.first, "b": x.second}
			edges := []accessEdge{{pod: "a-1", network: "a"}, {pod: "b-1", network: "b"}}
			p := &edgePool{
				find: func(context.Context) ([]accessEdge, error) {
					return slices.DeleteFunc(slices.Clone(edges), func(e accessEdge) bool { return errors.Is(faults[e.network], gone) }), nil
				},
				reach: func(_ context.Context, e accessEdge) (net.Conn, error) {
					var refused *dial.RefusedError
					if fault := faults[e.network]; fault != nil && !errors.As(fault, &refused) {
						return nil, fault
					}
					answer := "HTTP/1.1 200 OK\r\n\r\n"
					if refused != nil {
						answer = fmt.Sprintf("HTTP/1.1 %d Refused\r\nContent-Length: %d\r\n\r\n%s", refused.Status, len(refused.Reason), refused.Reason)
					}
					near, far := net.Pipe()
					go func() {
						_, _ = http.ReadRequest(bufio.NewReader(far))
						_, _ = io.WriteString(far, answer)
					}()
					return near, nil
				},
				edges: edges,
			}
			for range 2 {
				c, err := p.open(t.Context(), dial.Dialer{}, "worker-1:22")
				if x.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
					_ = c.Close()
					continue
				}
				g.Expect(err).To(MatchError(x.want))
			}
		})
	}
}

// TestEdgePool: what another edge may do better, and what not.
func TestEdgePool(t *testing.T) {
	g := NewWithT(t)
	for _, x := range []struct {
		err  error
		want bool
	}{
		{errors.New("connection refused"), true}, {&dial.RefusedError{Status: 503}, true}, {&dial.RefusedError{Status: 502}, false},
		{&dial.RefusedError{Status: 403}, false}, {errForbidden, false}, {dial.ErrToken, false},
	} {
		g.Expect(anotherMayDo(x.err)).To(Equal(x.want), "%v", x.err)
	}
	var reached []string
	edges := []accessEdge{{pod: "a", ready: true}, {pod: "b", ready: true}}
	finds := 0
	p := &edgePool{
		find: func(context.Context) ([]accessEdge, error) {
			if finds++; finds > 3 {
				return nil, errors.New("no edge is Ready")
			}
			return edges, nil
		},
		reach: func(_ context.Context, e accessEdge) (net.Conn, error) {
			reached = append(reached, e.pod)
			return nil, errors.New(e.pod + " is lost")
		},
	}
	g.Expect(p.load(t.Context())).To(Succeed())
	_, err := p.open(t.Context(), dial.Dialer{}, "worker-1:22")
	g.Expect(err).To(MatchError("access proxy: b is lost"))
	g.Expect(reached).To(Equal([]string{"a", "b"}), "each once, though both are still Ready")
	edges = append(edges, accessEdge{pod: "c", ready: true})
	_, err = p.open(t.Context(), dial.Dialer{}, "worker-1:22")
	g.Expect(err).To(MatchError("access proxy: c is lost"))
	g.Expect(reached).To(Equal([]string{"a", "b", "a", "b", "c"}))
	_, err = p.open(t.Context(), dial.Dialer{}, "worker-1:22")
	g.Expect(err).To(MatchError("access proxy: c is lost. no edge is Ready"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	reached = nil
	_, err = p.open(ctx, dial.Dialer{}, "worker-1:22")
	g.Expect(err).To(HaveOccurred())
	g.Expect(len(reached)).To(BeNumerically("<=", 1), "nothing is tried after the end")
}

// TestEdgeHangs: an edge that cannot be reached or does not answer costs seconds once. Then the other edge comes first.
func TestEdgeHangs(t *testing.T) {
	for name, x := range map[string]struct {
		reach func(ctx context.Context) (net.Conn, error)
		costs time.Duration
	}{
		"cannot be reached": {func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, edgeReachedWithin},
		"does not answer": {func(context.Context) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }()
			return near, nil
		}, edgeReachedWithin + edgeAnswersWithin},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				p := &edgePool{
					find: func(context.Context) ([]accessEdge, error) { return []accessEdge{{pod: "a"}, {pod: "b"}}, nil },
					reach: func(ctx context.Context, e accessEdge) (net.Conn, error) {
						if e.pod == "a" {
							return x.reach(ctx)
						}
						return answering(), nil
					},
				}
				g.Expect(p.load(t.Context())).To(Succeed())
				for _, costs := range []time.Duration{x.costs, 0} {
					began := time.Now()
					c, err := p.open(t.Context(), dial.Dialer{}, "worker-1:22")
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(time.Since(began)).To(Equal(costs))
					_ = c.Close()
				}
			})
		})
	}
}

// answering is a connection to an edge that opens each tunnel.
func answering() net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = http.ReadRequest(bufio.NewReader(far))
		_, _ = io.WriteString(far, "HTTP/1.1 200 OK\r\n\r\n")
	}()
	return near
}

// TestNetworkHangs: a network whose edges hang costs seconds once a minute. Then it comes last, until one of its edges answers.
func TestNetworkHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		hangs, used := true, ""
		p := &edgePool{
			find: func(context.Context) ([]accessEdge, error) {
				return []accessEdge{{pod: "a-1", network: "a"}, {pod: "b-1", network: "b"}}, nil
			},
			reach: func(ctx context.Context, e accessEdge) (net.Conn, error) {
				if e.network == "a" && hangs {
					<-ctx.Done()
					return nil, ctx.Err()
				}
				used = e.pod
				return answering(), nil
			},
		}
		g.Expect(p.load(t.Context())).To(Succeed())
		opens := func(through string, costs time.Duration) {
			t.Helper()
			began := time.Now()
			c, err := p.open(t.Context(), dial.Dialer{}, "worker-1:22")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]any{used, time.Since(began)}).To(Equal([]any{through, costs}))
			_ = c.Close()
		}
		opens("b-1", edgeReachedWithin)
		opens("b-1", 0)
		g.Expect(p.load(t.Context())).To(Succeed())
		opens("b-1", 0)
		<-time.After(failedFor)
		opens("b-1", edgeReachedWithin)
		hangs = false
		opens("b-1", 0)
		<-time.After(failedFor)
		opens("a-1", 0)
		opens("a-1", 0)
	})
}

// TestAccountTokens: a token is renewed after half of its lifetime, and used until it expires if that fails.
func TestAccountTokens(t *testing.T) {
	g := NewWithT(t)
	now, asked := time.Unix(1_800_000_000, 0), 0
	var fault error
	a := &accountTokens{now: func() time.Time { return now }, request: func(context.Context) (string, time.Duration, error) {
		asked++
		return string(rune('a' + asked - 1)), time.Hour, fault
	}}
	get := func(after time.Duration) string {
		now = now.Add(after)
		token, err := a.get(t.Context())
		if err != nil {
			return err.Error()
		}
		return token
	}
	g.Expect([]string{get(0), get(29 * time.Minute), get(2 * time.Minute)}).To(Equal([]string{"a", "a", "b"}))
	fault = errors.New("the API server is away")
	g.Expect([]string{get(31 * time.Minute), get(28 * time.Minute), get(2 * time.Minute)}).To(Equal([]string{"b", "b", "the API server is away"}))
	fault = nil
	g.Expect(get(0)).To(Equal("f"))
}
