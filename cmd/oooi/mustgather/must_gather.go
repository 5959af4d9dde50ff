// Package mustgather is `oooi must-gather`: it writes what a bug report needs from a running cluster into a
// directory. Package source lists the objects, edges.go asks edges, and secrets.go decides what is left out.
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
	// logBytes is how many bytes at the end of a log are kept.
	logBytes            = 16 << 20
	objectsDir, logsDir = "objects", "logs"
	// unnamespaced is the directory of objects without a namespace. No namespace has this name.
	unnamespaced = "_cluster"
)

// New returns the command.
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
	// objects and logFiles were written.
	objects, logFiles int
	// edges are the pods to ask. told is how many answered.
	edges []unstructured.Unstructured
	told  int
	// written are the files of objects.
	written map[string]bool
}

// All collects the named hosted cluster, or each that opted in, and the objects that they share.
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

// newDirectory refuses a directory with files, because they would be mixed.
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
		for _, o := range found {
			if w.Kind == source.DeploymentKind() {
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

// collect writes the objects of w, with the logs of pods, and returns the objects. It records what cannot be read. An
// error is about the directory, or means that ctx has ended.
func (g *Gatherer) collect(ctx context.Context, w source.Wanted) ([]unstructured.Unstructured, error) {
	found, err := w.Read(ctx, g.API)
	switch {
	case ctx.Err() != nil:
		return nil, command.ErrInterrupted
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

// write writes objects of one kind and namespace without their secrets, unless their file exists.
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

// podLogs also writes the log of the previous run of each container.
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

// lastLines returns whole lines at the end of r. most is a limit in bytes. If lines are left out, the first line says
// so.
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

// file writes one file. Names from the cluster cannot point outside the archive.
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
