// This file connects commands to a management cluster, with the credentials of the user.

package main

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
	"github.com/cldmnky/oooi/hcp/apirewrite/proxy"
)

// clusterFlags are the flags that tell how a command reaches the management cluster.
type clusterFlags struct {
	kubeconfig string
	rules      rulesFlag
}

func (f *clusterFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "`file` with the credentials of the management cluster (default: KUBECONFIG, else ~/.kube/config)")
	f.rules.add(c)
}

// hostedClusterName reads the argument NAMESPACE/NAME. Zero: there is none.
func hostedClusterName(args []string) (client.ObjectKey, error) {
	if len(args) == 0 {
		return client.ObjectKey{}, nil
	}
	namespace, name, ok := strings.Cut(args[0], "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, fmt.Errorf("%s: want NAMESPACE/NAME of a HostedCluster", args[0])
	}
	return client.ObjectKey{Namespace: namespace, Name: name}, nil
}

// config returns how to reach the API server.
func (f *clusterFlags) config() (*rest.Config, error) {
	rules, err := f.rules.read()
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
	return proxy.Renamed(config, rules)
}

// open returns a client that reads from the API server.
func (f *clusterFlags) open() (client.Reader, error) {
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return newReader(config)
}

// newReader returns a client that reads.
func newReader(config *rest.Config) (client.Reader, error) { return newClient(config) }

// newClient returns a client.
func newClient(config *rest.Config) (client.Client, error) {
	scheme, err := source.NewScheme()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// completesWithin is how long a shell waits for names.
const completesWithin = 3 * time.Second

// completeClusters completes the names of HostedClusters that opted in, with what the user may read.
func completeClusters(cluster *clusterFlags) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		api, err := cluster.open()
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
