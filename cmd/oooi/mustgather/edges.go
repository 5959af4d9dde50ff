// This file collects the state of Envoy and of the kernel from the pod of each edge, by a command that it runs there. An
// attacker in a VM may control an edge. So the answer's size is limited, and secrets are removed here, not only in the edge.

package mustgather

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/edge/wire"
)

const (
	// edgesDir is the directory in an archive that contains the answers of edges.
	edgesDir = "edges"
	// diagnosticsFile has no extension, so that no command reads it as an object.
	diagnosticsFile = "diagnostics"
	// askedWithin limits the time in which an edge must start the command, collect its answer and transfer it.
	askedWithin = 3 * wire.DiagnosticsTimeout
	// askedAtOnce is the number of edges that are asked at the same time.
	askedAtOnce = 32
	// maxComplaint limits what is kept of a command's standard error, in bytes.
	maxComplaint = 500
)

// A commandRunner runs a command in a container until it ends or ctx ends. It writes the standard output of the command to
// out, and the standard error to complaints.
type commandRunner func(ctx context.Context, pod client.ObjectKey, container string, command []string, out, complaints io.Writer) error

// commandsIn returns a commandRunner that runs commands through the API server. It uses WebSockets, or SPDY if a proxy in
// between does not support WebSockets.
func commandsIn(config *rest.Config, set kubernetes.Interface) commandRunner {
	return func(ctx context.Context, pod client.ObjectKey, container string, command []string, out, complaints io.Writer) error {
		at := set.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Container: container, Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
		sockets, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, at.String())
		if err != nil {
			return err
		}
		spdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, at)
		if err != nil {
			return err
		}
		both, err := remotecommand.NewFallbackExecutor(sockets, spdy, func(err error) bool {
			return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
		})
		if err != nil {
			return err
		}
		return both.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: out, Stderr: complaints})
	}
}

// askEdges writes the answer of each edge into the archive, and records the edges that do not answer. It returns an error
// only if it cannot write.
func (g *Gatherer) askEdges(ctx context.Context) error {
	faults := make([]string, len(g.edges))
	var told atomic.Int32
	var all errgroup.Group
	all.SetLimit(askedAtOnce)
	for i, pod := range g.edges {
		all.Go(func() error {
			text, fault := askEdge(ctx, g.Run, pod)
			faults[i] = fault
			if text == nil || ctx.Err() != nil {
				return nil
			}
			told.Add(1)
			return g.file(filepath.Join(edgesDir, pod.GetNamespace(), pod.GetName(), diagnosticsFile), text)
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	g.told = int(told.Load())
	for i, pod := range g.edges {
		if faults[i] != "" {
			g.Index.Unread = append(g.Index.Unread, source.Unread{What: fmt.Sprintf("data plane of edge %s/%s", pod.GetNamespace(), pod.GetName()), Why: faults[i]})
		}
	}
	return nil
}

// askEdge asks the edge in parameter pod. text is the answer without secrets. Nil: there is none. fault says what is
// missing in the answer, and why.
func askEdge(ctx context.Context, run commandRunner, pod unstructured.Unstructured) (text []byte, fault string) {
	running := func(c source.Container) bool { return c.Name == wire.Failover && c.Running }
	if !slices.ContainsFunc(source.ContainersOf(pod), running) {
		return nil, "container " + wire.Failover + " is not running"
	}
	limited, cancel := context.WithTimeout(ctx, askedWithin)
	defer cancel()
	out, complaints := &limitedBuffer{most: wire.DiagnosticsBytes}, &limitedBuffer{most: maxComplaint}
	err := run(limited, client.ObjectKeyFromObject(&pod), wire.Failover, wire.DiagnosticsCommand(), out, complaints)
	switch {
	case err != nil && limited.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Sprintf("it did not answer within %s", askedWithin)
	case err != nil:
		return nil, command.Printable(strings.TrimSpace(fmt.Sprintf("%.500s. %s", withoutCredentials(err.Error()), withoutCredentials(complaints.words()))))
	}
	told, whole := out.content()
	if !whole {
		return nil, fmt.Sprintf("its answer is longer than %d MiB", wire.DiagnosticsBytes>>20)
	}
	d, err := wire.ReadDiagnostics(told)
	if err == nil {
		text, err = cleanedText(told)
	}
	if err != nil {
		return nil, command.Printable(withoutCredentials(err.Error()))
	}
	return text, command.Printable(withoutCredentials(missingIn(d)))
}

func missingIn(d wire.Diagnostics) string {
	var out []string
	for _, p := range d.Parts {
		if p.Missing != "" {
			out = append(out, fmt.Sprintf("%.50s: %.200s", p.Name, withoutCredentials(p.Missing)))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "the document lacks " + strings.Join(out[:min(len(out), 20)], "; ")
}

func cleanedText(document []byte) ([]byte, error) {
	var all any
	in := json.NewDecoder(bytes.NewReader(document))
	in.UseNumber() // Counters may have more digits than a float64 can represent.
	if err := in.Decode(&all); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(cleaned(withoutSecretFields(all)))
	return out.Bytes(), err
}

// A limitedBuffer keeps the first bytes that are written to it. Their number is at most that in field most. It is safe
// for concurrent use, because a stream may still be copied into it while content is called.
type limitedBuffer struct {
	most int

	mu   sync.Mutex
	text []byte
	cut  bool
}

// Write implements io.Writer. It drops the bytes that do not fit, and returns no error, so that the stream is read to its
// end.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := min(len(p), b.most-len(b.text))
	b.text, b.cut = append(b.text, p[:fits]...), b.cut || fits < len(p)
	return len(p), nil
}

// content returns the kept bytes. whole is true if none were dropped.
func (b *limitedBuffer) content() (text []byte, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text), !b.cut
}

// words returns the kept bytes as text. If bytes were dropped, it leaves out the last word: a part of a credential would not
// be recognized as such.
func (b *limitedBuffer) words() string {
	text, whole := b.content()
	if !whole {
		text = text[:max(0, bytes.LastIndexAny(text, " \t\r\n"))]
	}
	return strings.TrimSpace(string(text))
}
