// Package mustgather implements `oooi must-gather`. It writes what a bug report needs from a running cluster into an
// archive, a directory that other commands read. Package source lists the objects, edges.go collects the state of edges, and
// secrets.go decides what is left out.
package mustgather

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/version"
)

const (
	// logBytes limits the end of a log that is kept, in bytes.
	logBytes            = 16 << 20
	objectsDir, logsDir = "objects", "logs"
	// unnamespaced is the directory of cluster-scoped objects. It is not a valid name of a namespace.
	unnamespaced = "_cluster"
)

// New returns the command `oooi must-gather`.
func New() *cobra.Command {
	var cluster command.ClusterFlags
	var dir string
	c := &cobra.Command{
		Use:   "must-gather [NAME]",
		Short: "Collect diagnostics for a bug report in a directory",
		Long: `Collects what oooi reads and writes for the HostedCluster of this name, or for
each that opted in. That is objects, events, the plan, leases and reports of
edges, and the logs of the edges and the operator. A command in each edge prints
the configuration and counters of Envoy, and the edge's addresses, routes and
ARP table. It reads with your rights and writes nothing to the cluster. File
index of the directory and standard error list what it could not read.

It reads no Secret. Private keys of Routes, cloud-init data of VMs, tokens, and
user names and passwords in URLs are left out. Names, addresses and the settings
of the hosted cluster are in the directory.

The other commands read the directory without a cluster:
  oooi status -f DIR
  oooi map -f DIR
  oooi plan -f DIR`,
		Example: `  oooi must-gather clusters/blue --to blue-report
  tar -czf blue-report.tar.gz blue-report`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := cluster.Named(args)
			if err != nil {
				return err
			}
			config, err := cluster.Config()
			if err != nil {
				return err
			}
			api, err := command.NewClient(config)
			if err != nil {
				return err
			}
			if name, err = cluster.Find(c.Context(), api, name); err != nil {
				return err
			}
			set, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			g := Gatherer{API: api, Logs: source.LogsOf(set), Run: commandsIn(config, set), Dir: dir,
				Index: source.ArchiveIndex{Format: source.ArchiveFormat, Version: version.Of(), Time: time.Now().UTC().Truncate(time.Second)}}
			if err := g.All(c.Context(), name); err != nil {
				return err
			}
			for _, u := range g.Index.Unread {
				command.Complain(c.ErrOrStderr(), u.String())
			}
			fmt.Fprintf(c.OutOrStdout(), "%s has %d objects, %d logs and the data plane of %d edges.\n", dir, g.objects, g.logFiles, g.told)
			return nil
		},
	}
	cluster.Add(c)
	c.ValidArgsFunction = command.CompleteClusters(&cluster)
	c.Flags().StringVar(&dir, "to", "oooi-must-gather", "new `directory` to write")
	return c
}

// A Gatherer writes one archive.
type Gatherer struct {
	API   client.Reader
	Logs  source.LogReader
	Run   commandRunner
	Dir   string
	Index source.ArchiveIndex
	// objects and logFiles are the numbers of objects and logs that were written.
	objects, logFiles int
	// edges are the pods of edges that were found. told is the number of edges that answered.
	edges []unstructured.Unstructured
	told  int
	// written are the paths of the files of objects that were written.
	written map[string]bool
}

// All writes an archive of the hosted cluster with this name, and of the objects that all hosted clusters share. An empty
// name selects each hosted cluster that opted in.
func (g *Gatherer) All(ctx context.Context, name client.ObjectKey) error {
	clusters, err := source.Selected(ctx, g.API, name)
	if err != nil {
		return err
	}
	if err := newDirectory(g.Dir); err != nil {
		return err
	}
	g.written = map[string]bool{}
	for _, hc := range clusters {
		if err := g.cluster(ctx, hc); err != nil {
			return err
		}
	}
	if err := g.installation(ctx); err != nil {
		return err
	}
	if err := g.askEdges(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return command.ErrInterrupted
	}
	return g.Index.Write(g.Dir)
}

// newDirectory creates dir. If dir exists and is not empty, it returns an error, because other files would become part
// of the archive.
func newDirectory(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("--to %s: the directory is not empty", dir)
	}
	return err
}

func (g *Gatherer) cluster(ctx context.Context, hc source.HostedCluster) error {
	running := hcp.UnreadLiveCluster(hc.Namespace, hc.Name)
	if hc.Object == nil {
		g.Index.Add(source.Wanted{Kind: hcp.NewHostedCluster().GroupVersionKind(), Namespace: hc.Namespace}, errors.New("you have no right to read it"))
	} else {
		if err := g.write(hc.Namespace, []unstructured.Unstructured{*hc.Object}); err != nil {
			return err
		}
		if r, err := hcp.ReadLiveCluster(hc.Object); err == nil {
			running = r
		}
	}
	return source.EachOf(hc.Object, running, func(w source.Wanted) ([]unstructured.Unstructured, error) { return g.collect(ctx, w) })
}

func (g *Gatherer) installation(ctx context.Context) error {
	namespaces := map[string]bool{}
	for _, w := range source.WantedOfAll() {
		found, err := g.collect(ctx, w)
		if err != nil {
			return err
		}
		if w.Kind == source.DeploymentKind() {
			for _, o := range source.Operators(ctx, g.API, found) {
				namespaces[o.GetNamespace()] = true
			}
		}
	}
	for namespace := range namespaces {
		for _, w := range source.WantedOfOperator(namespace) {
			if _, err := g.collect(ctx, w); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect writes the objects that w selects, with the logs of pods, and returns the objects. It records what it cannot read.
// It returns an error only if it cannot write, or if ctx has ended.
func (g *Gatherer) collect(ctx context.Context, w source.Wanted) ([]unstructured.Unstructured, error) {
	found, err := w.Read(ctx, g.API)
	switch {
	case ctx.Err() != nil:
		return nil, command.ErrInterrupted
	case errors.Is(err, source.ErrMoreEvents):
		g.Index.Unread = append(g.Index.Unread, source.Unread{What: w.String(), Why: err.Error()})
	case err != nil:
		g.Index.Add(w, err)
		return nil, nil
	}
	byNamespace := map[string][]unstructured.Unstructured{}
	for _, o := range found {
		byNamespace[o.GetNamespace()] = append(byNamespace[o.GetNamespace()], o)
	}
	for namespace, all := range byNamespace {
		if err := g.write(namespace, all); err != nil {
			return nil, err
		}
	}
	if w.Kind != source.PodKind() {
		return found, nil
	}
	for _, o := range found {
		if o.GetLabels()[wire.LabelName] == wire.NameEdge {
			g.edges = append(g.edges, o)
		}
		if err := g.podLogs(ctx, o); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// write writes objects of one kind and namespace to one file, without their secrets. It does nothing if that file was
// already written.
func (g *Gatherer) write(namespace string, all []unstructured.Unstructured) error {
	kind := all[0].GroupVersionKind()
	name := strings.ToLower(kind.GroupKind().String()) + ".yaml"
	if len(all) == 1 {
		name = strings.ToLower(kind.GroupKind().String()) + "." + all[0].GetName() + ".yaml"
	}
	if namespace == "" {
		namespace = unnamespaced
	}
	path := filepath.Join(objectsDir, namespace, name)
	if g.written[path] {
		return nil
	}
	g.written[path] = true
	var text strings.Builder
	for _, o := range all {
		y, err := yaml.Marshal(withoutSecrets(o).Object)
		if err != nil {
			return fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
		text.WriteString("---\n")
		text.Write(y)
	}
	g.objects += len(all)
	return g.file(path, []byte(text.String()))
}

// podLogs writes the log of each container of the pod o, and the log of the run before the last restart.
func (g *Gatherer) podLogs(ctx context.Context, o unstructured.Unstructured) error {
	for _, c := range source.ContainersOf(o) {
		for _, previous := range []bool{false, true} {
			if previous && !c.Restarted {
				continue
			}
			text, err := readLog(ctx, g.Logs, client.ObjectKeyFromObject(&o), c.Name, previous)
			if err != nil {
				g.Index.Unread = append(g.Index.Unread, source.Unread{What: fmt.Sprintf("log of %s/%s, container %s", o.GetNamespace(), o.GetName(), c.Name), Why: err.Error()})
				continue
			}
			name := c.Name + ".log"
			if previous {
				name = c.Name + ".previous.log"
			}
			if err := g.file(filepath.Join(logsDir, o.GetNamespace(), o.GetName(), name), text); err != nil {
				return err
			}
			g.logFiles++
		}
	}
	return nil
}

func readLog(ctx context.Context, logs source.LogReader, pod client.ObjectKey, container string, previous bool) ([]byte, error) {
	r, err := logs(ctx, pod, container, previous)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	text, err := lastLines(r, logBytes)
	return []byte(withoutCredentials(text)), err
}

// lastLines returns whole lines from the end of r. Parameter most limits their size in bytes. If lastLines omits older
// lines, it adds a first line that reports the omission.
func lastLines(r io.Reader, most int) (string, error) {
	var text []byte
	whole, part := true, make([]byte, 64<<10)
	for {
		n, err := r.Read(part)
		text = append(text, part[:n]...)
		if len(text) > 2*most {
			text, whole = slices.Clone(text[len(text)-most:]), false
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if len(text) > most {
			text, whole = text[len(text)-most:], false
		}
		if !whole {
			text = slices.Concat([]byte("(older lines omitted)\n"), text[bytes.IndexByte(text, '\n')+1:])
		}
		return string(text), err
	}
}

// file writes content to path in the archive. It returns an error for a path outside the archive: a part of path is a name
// from the cluster.
func (g *Gatherer) file(path string, content []byte) error {
	if !filepath.IsLocal(path) {
		return &fs.PathError{Op: "write", Path: path, Err: errors.New("points outside the directory")}
	}
	path = filepath.Join(g.Dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}
