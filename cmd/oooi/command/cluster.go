// This file connects commands to a management cluster with the user's credentials.

package command

import (
	"context"
	"errors"
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

// ClusterFlags are the flags that select a management cluster and a namespace. They have the names of kubectl's flags.
type ClusterFlags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
	Rules      RulesFlag
}

// Add adds the flags to c.
func (f *ClusterFlags) Add(c *cobra.Command) {
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the credentials of the management cluster (default: KUBECONFIG, else ~/.kube/config)")
	clientcmd.BindOverrideFlags(&f.overrides, c.Flags(), clientcmd.ConfigOverrideFlags{
		CurrentContext: clientcmd.FlagInfo{LongName: clientcmd.FlagContext, Description: "`name` of the kubeconfig's context to use (default: its current context)"},
		ContextOverrideFlags: clientcmd.ContextOverrideFlags{Namespace: clientcmd.FlagInfo{LongName: clientcmd.FlagNamespace, ShortName: "n",
			Description: "`namespace` of the HostedCluster; without NAME, only HostedClusters in this namespace (default: all namespaces)"}},
	})
	f.Rules.Add(c)
}

// Named parses the argument NAME or NAMESPACE/NAME of a HostedCluster. The namespace is empty if neither the argument nor
// --namespace sets it. Without an argument, the name is empty, which means each HostedCluster that opted in.
func (f *ClusterFlags) Named(args []string) (client.ObjectKey, error) {
	key := client.ObjectKey{Namespace: f.overrides.Context.Namespace}
	if len(args) == 0 {
		return key, nil
	}
	namespace, name, both := strings.Cut(args[0], "/")
	if !both {
		namespace, name = key.Namespace, args[0]
	}
	if both && namespace == "" || name == "" || strings.Contains(name, "/") {
		return key, fmt.Errorf("%s: want NAME or NAMESPACE/NAME of a HostedCluster", args[0])
	}
	if key.Namespace != "" && key.Namespace != namespace {
		return key, fmt.Errorf("%s: --namespace %s is another namespace. Remove one of the two", args[0], key.Namespace)
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}

// Find returns parameter named with its namespace. If named has none, Find looks for the HostedCluster first in the
// kubeconfig's namespace, and then in all. An empty name is returned unchanged.
func (f *ClusterFlags) Find(ctx context.Context, api client.Reader, named client.ObjectKey) (client.ObjectKey, error) {
	if named.Name == "" || named.Namespace != "" {
		return named, nil
	}
	home, _, err := f.loader().Namespace()
	if err != nil {
		return named, fmt.Errorf("kubeconfig: %w", err)
	}
	return source.Find(ctx, api, home, named.Name)
}

func (f *ClusterFlags) loader() clientcmd.ClientConfig {
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	loading.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, &f.overrides)
}

// Config returns the configuration of a client for the API server that the flags select. The client renames as --api-rules
// says.
func (f *ClusterFlags) Config() (*rest.Config, error) {
	rules, err := f.Rules.Read()
	if err != nil {
		return nil, err
	}
	config, err := f.loader().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("there is no kubeconfig. Set --kubeconfig or the environment variable KUBECONFIG to one of the management cluster")
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config.QPS = -1 // No client-side limit: the API server has limits, and commands limit what they read at one time.
	return apiproxy.Renamed(config, rules)
}

// Open returns a client with the configuration of Config, for reads only.
func (f *ClusterFlags) Open() (client.Reader, error) {
	config, err := f.Config()
	if err != nil {
		return nil, err
	}
	return NewClient(config)
}

// NewClient returns a client that knows the types of source.NewScheme.
func NewClient(config *rest.Config) (client.Client, error) {
	scheme, err := source.NewScheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// completesWithin limits how long the completion of a name may take.
const completesWithin = 3 * time.Second

// CompleteClusters returns a function that completes the names of HostedClusters that opted in.
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
		in, _ := cluster.Named(nil)
		all, err := source.Selected(ctx, api, in)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		for _, hc := range all {
			name := hc.Name
			if in.Namespace == "" && !strings.HasPrefix(name, begun) {
				name = hc.Key().String()
			}
			if strings.HasPrefix(name, begun) {
				names = append(names, name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
