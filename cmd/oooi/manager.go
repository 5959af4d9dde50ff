// This file starts the operator. It decides nothing about networks: the
// controllers do.

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/controllers"
)

// The environment of the operator's pod.
const (
	envNamespace      = "POD_NAMESPACE"
	envServiceAccount = "SERVICE_ACCOUNT"
	envImage          = "RELATED_IMAGE_OOOI"
	envEnvoyImage     = "RELATED_IMAGE_ENVOY"
)

// defaultEnvoyImage has envoy as its entrypoint, and a numeric user that is not
// root.
const defaultEnvoyImage = "docker.io/envoyproxy/envoy:distroless-v1.36.2"

// managerOptions are the flags, and the environment laid under them.
type managerOptions struct {
	metrics, health string
	leaderElect     bool
	controllers     controllers.Options
}

func newManagerCommand() *cobra.Command {
	o := managerOptions{controllers: environment()}
	var permit permissionFlags
	c := &cobra.Command{
		Use:   "manager",
		Short: "Run the operator",
		Long: `Watches HostedClusters. For each one that opted in, the operator runs edges in its control
plane namespace. The operator starts on any cluster, and waits until HyperShift is installed.

Environment variables:
  ` + envImage + `        image of edges: the image of this program (required)
  ` + envEnvoyImage + `       image of Envoy (default ` + defaultEnvoyImage + `)
  HTTPS_PROXY, NO_PROXY     HTTP proxy through which edges reach external hosts`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return err
			}
			if o.controllers.Management, err = surroundings(resolvConf); err != nil {
				return err
			}
			if o.controllers.Permissions, err = permit.parse(); err != nil {
				return err
			}
			log := managerLog(os.Stderr)
			ctrl.SetLogger(log)
			klog.SetLogger(log)
			mgr, err := newManager(config, o, log)
			if err != nil {
				return err
			}
			return mgr.Start(c.Context())
		},
	}
	c.Flags().StringVar(&o.metrics, "metrics-bind-address", ":8080", "`address` of the Prometheus metrics; 0 disables them")
	c.Flags().StringVar(&o.health, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz; 0 disables them")
	c.Flags().BoolVar(&o.leaderElect, "leader-elect", false, "run only one active operator, elected with a Lease in its namespace")
	permit = addPermissionFlags(c)
	c.Flags().StringVar(&o.controllers.ServiceAccount.Namespace, "namespace", o.controllers.ServiceAccount.Namespace, "the operator's namespace (default: $"+envNamespace+")")
	c.Flags().StringVar(&o.controllers.ServiceAccount.Name, "service-account", o.controllers.ServiceAccount.Name, "the operator's ServiceAccount (default: $"+envServiceAccount+")")
	return c
}

// environment is what the pod's environment says of the controllers' options.
func environment() controllers.Options {
	return controllers.Options{
		Image:          os.Getenv(envImage),
		EnvoyImage:     cmp.Or(os.Getenv(envEnvoyImage), defaultEnvoyImage),
		Proxy:          *httpproxy.FromEnvironment(),
		ServiceAccount: types.NamespacedName{Namespace: os.Getenv(envNamespace), Name: os.Getenv(envServiceAccount)},
	}
}

func (o managerOptions) validate() error {
	switch {
	case o.controllers.Image == "":
		return errors.New(envImage + " is not set: set it to the image of this program, which edges run")
	case o.controllers.ServiceAccount.Namespace == "" || o.controllers.ServiceAccount.Name == "":
		return errors.New("the operator's ServiceAccount is not known: set --namespace and --service-account, or " + envNamespace + " and " + envServiceAccount)
	}
	return nil
}

func newManager(config *rest.Config, o managerOptions, log logr.Logger) (ctrl.Manager, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := controllers.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 50, 100
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        log,
		Cache:                         controllers.CacheOptions(),
		Metrics:                       server.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.health,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "oooi.densityops.com",
		LeaderElectionNamespace:       o.controllers.ServiceAccount.Namespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, err
		}
	}
	r := &controllers.Reconciler{
		Client:  mgr.GetClient(),
		Live:    mgr.GetAPIReader(),
		Events:  mgr.GetEventRecorder("oooi"),
		Metrics: controllers.NewMetrics(metrics.Registry),
		Options: o.controllers,
		Now:     time.Now,
	}
	return mgr, r.SetupWithManager(mgr)
}
