package mustgather

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/edge/wire"
)

// askedEdge is the pod of an edge. Running: its container for the failover agent runs.
func askedEdge(name string, running bool) unstructured.Unstructured {
	state := map[string]any{"waiting": map[string]any{"reason": "CrashLoopBackOff"}}
	if running {
		state = map[string]any{"running": map[string]any{}}
	}
	o := unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"containerStatuses": []any{
		map[string]any{"name": "dhcp", "state": map[string]any{"running": map[string]any{}}}, map[string]any{"name": wire.Failover, "state": state}}}}}
	o.SetNamespace("clusters-blue")
	o.SetName(name)
	o.SetLabels(wire.NamedLabels(wire.NameEdge))
	return o
}

// toldWithSecrets is a document of an edge that a VM took over, with secrets in its values.
func toldWithSecrets(t *testing.T) []byte {
	t.Helper()
	g := NewWithT(t)
	lines, err := json.Marshal(append(planted(), "cluster.api.upstream_cx_total: 18446744073709551615"))
	g.Expect(err).NotTo(HaveOccurred())
	config := `[{"password": "` + secret + `", "nested": [{"inline": {"private_key": {"inline_string": "` + secret + `"}}},
		{"header": {"key": "Proxy-Authorization", "value": "Basic ` + secret + `"}}, {"header": {"key": "x-name", "value": "blue"}}]}]`
	b, err := json.Marshal(wire.Diagnostics{Version: 1, Program: "v0.1.0", Parts: []wire.DiagnosticsPart{
		{Name: "neighbors", Content: json.RawMessage(`[{"device":"net1","address":"192.168.100.20","mac":"02:00:00:00:00:01","state":"reachable"}]`)},
		{Name: "envoyStats", Content: lines}, {Name: "envoyListeners", Content: json.RawMessage(config)},
		{Name: "envoyEndpoints", Missing: "everything: http://u:" + secret + "@envoy is silent\x1b[2J"}}})
	g.Expect(err).NotTo(HaveOccurred())
	return b
}

// TestEdgesAreAsked: the answer of an edge is in the directory, without a secret. One that does not answer, or answers anything else, is one
// line, and delays no other one.
func TestEdgesAreAsked(t *testing.T) {
	g := NewWithT(t)
	var others sync.WaitGroup
	answers := map[string]func(out, complaints io.Writer) error{
		"hangs": func(io.Writer, io.Writer) error { // Until all others have answered.
			others.Wait()
			return context.DeadlineExceeded
		},
		"tells": func(out, _ io.Writer) error { _, err := out.Write(toldWithSecrets(t)); return err },
		"forbidden": func(io.Writer, io.Writer) error {
			return errors.New(`pods "forbidden" is forbidden: you may not create pods/exec`)
		},
		"former": func(_, complaints io.Writer) error {
			_, _ = fmt.Fprintln(complaints, "oooi-edge: unknown command \"diagnostics\" for https://u:"+secret+"@x\x1b[2J")
			return errors.New("command terminated with exit code 1")
		},
		"endless": func(out, _ io.Writer) error {
			for range wire.DiagnosticsBytes>>10 + 1 {
				_, _ = out.Write(make([]byte, 1<<10))
			}
			return nil
		},
		"rubbish": func(out, _ io.Writer) error { _, err := io.WriteString(out, "hello "+secret); return err },
		"newer": func(out, _ io.Writer) error {
			_, err := io.WriteString(out, `{"version": 2, "parts": [{"name": "x"}]}`)
			return err
		},
	}
	gather := Gatherer{Dir: t.TempDir(), edges: []unstructured.Unstructured{askedEdge("hangs", true), askedEdge("crashes", false)}}
	for name := range answers {
		if name != "hangs" {
			gather.edges = append(gather.edges, askedEdge(name, true))
			others.Add(1)
		}
	}
	gather.Run = func(_ context.Context, pod client.ObjectKey, container string, command []string, out, complaints io.Writer) error {
		if pod.Name != "hangs" {
			defer others.Done()
		}
		if container != wire.Failover || strings.Join(command, " ") != "oooi-edge diagnostics --run-dir /run/oooi" {
			return fmt.Errorf("%s in %s", command, container)
		}
		return answers[pod.Name](out, complaints)
	}
	g.Expect(gather.askEdges(t.Context())).To(Succeed())
	g.Expect(gather.told).To(Equal(1))
	files, err := filepath.Glob(filepath.Join(gather.Dir, "*", "*", "*", "*"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).To(Equal([]string{filepath.Join(gather.Dir, "edges", "clusters-blue", "tells", "diagnostics")}))
	content, err := os.ReadFile(files[0])
	g.Expect(err).NotTo(HaveOccurred())
	text := string(content)
	g.Expect(text).To(And(ContainSubstring(`"mac": "02:00:00:00:00:01"`), ContainSubstring("18446744073709551615"), ContainSubstring(`"value": "blue"`), ContainSubstring(leftOut)))
	g.Expect(text).NotTo(ContainSubstring(secret))
	_, err = wire.ReadDiagnostics(content)
	g.Expect(err).NotTo(HaveOccurred())

	why := map[string]string{}
	for _, u := range gather.Index.Unread {
		why[strings.TrimPrefix(u.What, "data plane of edge clusters-blue/")] = u.Why
	}
	g.Expect(why).To(HaveLen(8))
	for name, want := range map[string]string{
		"hangs":     "it did not answer within 15s",
		"crashes":   "container failover is not running",
		"tells":     "the document lacks envoyEndpoints: everything: http://LEFT-OUT@envoy is silent\ufffd[2J",
		"forbidden": "you may not create pods/exec",
		"former":    `exit code 1. oooi-edge: unknown command "diagnostics"`,
		"endless":   "its answer is longer than 4 MiB",
		"rubbish":   "not the diagnostics of an edge",
		"newer":     "diagnostics of version 2",
	} {
		g.Expect(why[name]).To(ContainSubstring(want), name)
		g.Expect(why[name]).NotTo(Or(ContainSubstring(secret), ContainSubstring("\x1b")), name)
	}
}

// TestCommandsRunThroughTheAPIServer: a command's output arrives whole, its failure has its words, and a right that is missing has those of
// the API server.
func TestCommandsRunThroughTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	refused := make(chan string, 2)
	play := websocket.Server{
		Handshake: func(c *websocket.Config, _ *http.Request) error {
			c.Protocol = []string{"v5.channel.k8s.io"}
			return nil
		},
		Handler: func(ws *websocket.Conn) {
			defer func() { _ = ws.Close() }() // It ends the stream as a server should.
			const stdout, stderr, status = "\x01", "\x02", "\x03"
			say := func(channel, text string) { g.Expect(websocket.Message.Send(ws, []byte(channel+text))).To(Succeed()) }
			if ws.Request().URL.Query().Get("command") == "fails" {
				say(stderr, "no such command")
				say(status, `{"status": "Failure", "reason": "NonZeroExitCode", "message": "exit code 1", "details": {"causes": [{"reason": "ExitCode", "message": "1"}]}}`)
				return
			}
			say(stdout, "one,")
			say(stdout, strings.Join(ws.Request().URL.Query()["command"], " "))
			say(status, `{"status": "Success"}`)
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/namespaces/clusters-blue/pods/oooi-edge-1/exec" && r.URL.Query().Get("container") == "failover" {
			play.ServeHTTP(w, r)
			return
		}
		refused <- r.Method
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: "no right to pods/exec", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	}))
	t.Cleanup(s.Close)
	config := &rest.Config{Host: s.URL}
	set, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	said := func(pod string, command ...string) (out, complaints string, err error) {
		var o, c strings.Builder
		err = commandsIn(config, set)(t.Context(), client.ObjectKey{Namespace: "clusters-blue", Name: pod}, "failover", command, &o, &c)
		return o.String(), c.String(), err
	}
	out, _, err := said("oooi-edge-1", "oooi-edge", "diagnostics")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(Equal("one,oooi-edge diagnostics"))
	_, complaints, err := said("oooi-edge-1", "fails")
	g.Expect(err).To(MatchError(ContainSubstring("exit code 1")))
	g.Expect(complaints).To(Equal("no such command"))
	_, _, err = said("oooi-edge-2", "oooi-edge")
	g.Expect(err).To(MatchError(ContainSubstring("no right to pods/exec")))
	g.Expect(<-refused).To(Equal(http.MethodGet))
	g.Expect(<-refused).To(Equal(http.MethodPost), "a request that needs only the right to create follows")
}
