// This file connects commands to a management cluster, with the credentials of the user.

package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/cmd/oooi/source"
	"github.com/cldmnky/oooi/hcp/apiproxy"
)

// ClusterFlags are the flags for access to the management cluster.
type ClusterFlags struct {
	kubeconfig string
	Rules      RulesFlag
}

// Add gives a command the flags.
func (f *ClusterFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the credentials of the management cluster (default: KUBECONFIG, else ~/.kube/config)")
	f.Rules.Add(c)
}

// HostedClusterName reads the argument NAMESPACE/NAME. Zero: there is none.
func HostedClusterName(args []string) (client.ObjectKey, error) {
	if len(args) == 0 {
		return client.ObjectKey{}, nil
	}
	namespace, name, ok := strings.Cut(args[0], "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, fmt.Errorf("%s: want NAMESPACE/NAME of a HostedCluster", args[0])
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}

// Config returns how to reach the API server.
func (f *ClusterFlags) Config() (*rest.Config, error) {
	rules, err := f.Rules.Read()
	if err != nil {
		return nil, err
	}
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1 // The API server limits clients fairly. What is read at once is limited where it is read.
	return apiproxy.Renamed(config, rules)
}

// Open returns a client that reads from the API server.
func (f *ClusterFlags) Open() (client.Reader, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	return NewReader(config)
}

// NewReader returns a client that reads.
func NewReader(config *rest.Config) (client.Reader, error) { return NewClient(config) }

// NewClient returns a client.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme, err := source.NewScheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// completesWithin is how long a shell waits for names.
const completesWithin = 3 * time.Second

// CompleteClusters completes the names of HostedClusters that opted in, with what the user may read.
func CompleteClusters(cluster *ClusterFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		api, err := cluster.Open()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx, cancel := context.WithTimeout(c.Context(), completesWithin)
		defer cancel()
		all, err := source.Selected(ctx, api, client.ObjectKey{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, hc := range all {
			if name := hc.Namespace + "/" + hc.Name; strings.HasPrefix(name, begun) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
