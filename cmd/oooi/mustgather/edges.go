// This file collects what each edge knows about its data plane, because only the pods have the state of Envoy and of
// the kernel. A VM may have taken over an edge, so its answer is limited, and loses its secrets.

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
	// edgesDir is the directory of an archive with the answers of edges.
	edgesDir = "edges"
	// diagnosticsFile has no extension, so that no command reads it as an object.
	diagnosticsFile = "diagnostics"
	// askedWithin is how long an edge may take to start, to collect and to transfer its answer.
	askedWithin = 3 * wire.DiagnosticsTimeout
	// askedAtOnce is how many edges are asked at the same time.
	askedAtOnce = 32
	// maxComplaint is the largest size of a command's error output that is kept, in bytes.
	maxComplaint = 500
)

// A commandRunner runs a command in a container, until ctx ends.
type commandRunner func(ctx context.Context, pod client.ObjectKey, container string, command []string, out, complaints io.Writer) error

// commandsIn runs commands through the API server: over WebSockets, or over SPDY if something in between does not
// support them.
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

// askEdges writes the answer of each edge. A silent edge delays all by at most askedWithin. An error is about the
// directory, or means that ctx has ended.
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

// askEdge returns an answer without secrets, or nil. fault says what is missing, and why.
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
	in.UseNumber() // Counters have more digits than a float.
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

// A limitedBuffer keeps the first bytes. A stream may still be copied into it while it is read.
type limitedBuffer struct {
	most int

	mu   sync.Mutex
	text []byte
	cut  bool
}

// Write keeps the bytes that fit, and accepts the rest, because a stream must be read to its end.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := min(len(p), b.most-len(b.text))
	b.text, b.cut = append(b.text, p[:fits]...), b.cut || fits < len(p)
	return len(p), nil
}

// content is whole if nothing was dropped.
func (b *limitedBuffer) content() (text []byte, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Clone(b.text), !b.cut
}

// words leaves out the last word of a text that was cut, because a part of a credential would not be recognized.
func (b *limitedBuffer) words() string {
	text, whole := b.content()
	if !whole {
		text = text[:max(0, bytes.LastIndexAny(text, " \t\r\n"))]
	}
	return strings.TrimSpace(string(text))
}
