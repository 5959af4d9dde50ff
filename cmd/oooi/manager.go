// This file holds `oooi manager`, which starts the operator. Package controllers makes all decisions about networks.

package main

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"golang.org/x/net/http/httpproxy"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/callers"
	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/controllers"
	"github.com/cldmnky/oooi/controllers/desired"
	"github.com/cldmnky/oooi/controllers/report"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp/apiproxy"
	"github.com/cldmnky/oooi/version"
)

const (
	// electionRetry is the interval at which the leader renews its Lease, and other replicas try to lead. Another
	// replica leads within 2 s if the leader ends normally. If the leader crashes, the Lease expires first, after 15 s.
	electionRetry = 800 * time.Millisecond
	// shutdownTimeout limits how long a leader that ends waits for its reconciliations. It must be shorter than the
	// pod's grace period.
	shutdownTimeout = 5 * time.Second
)

// collectAt is the default of GOGC, in percent. It is lower than Go's because nearly all of the heap are caches, which
// live long.
const collectAt = 30

// managerOptions are the values of the flags. Their defaults come from the environment.
type managerOptions struct {
	metrics, health string
	leaderElect     bool
	rules           command.RulesFlag
	controllers     controllers.Options
}

func newManagerCommand() *cobra.Command {
	o := managerOptions{controllers: environment()}
	var permit command.PermissionFlags
	c := &cobra.Command{
		Use:    "manager",
		Hidden: true, // Only a container runs it.
		Short:  "Run the operator",
		Long: `Watches HostedClusters. For each one that opted in, the operator runs edges in its control
plane namespace. The operator starts on any cluster, and waits until HyperShift is installed.

Environment variables:
  ` + command.EnvEdgeImage + `        image of edges, which contains oooi-edge (required)
  ` + command.EnvEnvoyImage + `       image of Envoy, whose entrypoint is envoy (required)
  HTTPS_PROXY, NO_PROXY     HTTP proxy through which edges reach external hosts`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rules, err := o.rules.Read()
			if err != nil {
				return err
			}
			config, err := ctrl.GetConfig()
			if err != nil {
				return err
			}
			if config, err = apiproxy.Renamed(config, rules); err != nil {
				return err
			}
			o.controllers.VMResource = vmResource(rules)
			if o.controllers.Management, err = managementCluster(wire.ResolvConf); err != nil {
				return err
			}
			if o.controllers.Permissions, err = permit.Parse(); err != nil {
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
	permit = command.AddPermissionFlags(c)
	o.rules.Add(c)
	c.Flags().StringVar(&o.controllers.ServiceAccount.Namespace, "namespace", o.controllers.ServiceAccount.Namespace, "the operator's namespace (default: $"+command.EnvNamespace+")")
	c.Flags().StringVar(&o.controllers.ServiceAccount.Name, "service-account", o.controllers.ServiceAccount.Name, "the operator's ServiceAccount (default: $"+command.EnvServiceAccount+")")
	return c
}

func environment() controllers.Options {
	return controllers.Options{
		Build:          version.Number(),
		Release:        desired.Release{Image: os.Getenv(command.EnvEdgeImage), EnvoyImage: os.Getenv(command.EnvEnvoyImage)},
		Proxy:          *httpproxy.FromEnvironment(),
		ServiceAccount: types.NamespacedName{Namespace: os.Getenv(command.EnvNamespace), Name: os.Getenv(command.EnvServiceAccount)},
	}
}

func (o managerOptions) validate() error {
	switch {
	case o.controllers.Image == "":
		return errors.New(command.EnvEdgeImage + " is not set: set it to the image of edges, which contains oooi-edge")
	case o.controllers.EnvoyImage == "":
		return errors.New(command.EnvEnvoyImage + " is not set: set it to the image of Envoy, which edges run")
	case o.controllers.ServiceAccount.Namespace == "" || o.controllers.ServiceAccount.Name == "":
		return errors.New("the operator's ServiceAccount is not known: set --namespace and --service-account, or " + command.EnvNamespace + " and " + command.EnvServiceAccount)
	}
	return nil
}

func newManager(config *rest.Config, o managerOptions, log logr.Logger) (ctrl.Manager, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 200, 400
	r := &controllers.Reconciler{Metrics: report.NewMetrics(metrics.Registry), Options: o.controllers, Now: time.Now}
	mgr, err := controllers.NewManager(config, ctrl.Options{
		Logger:                        log,
		Metrics:                       server.Options{BindAddress: "0"}, // Both are served by serveCallers.
		HealthProbeBindAddress:        "0",
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              command.LeaderElectionID,
		LeaderElectionNamespace:       o.controllers.ServiceAccount.Namespace,
		LeaderElectionReleaseOnCancel: true,
		RetryPeriod:                   new(electionRetry),
		GracefulShutdownTimeout:       new(shutdownTimeout),
	}, r)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		serveCallers(mgr, o.metrics, map[string]http.Handler{
			"/metrics": promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})}),
		serveCallers(mgr, o.health, probes(r.Kinds.Ready)))
	if err != nil {
		return nil, err
	}
	return mgr, nil
}

// portConnections is the largest number of open connections to a port of the operator. Every pod of the management
// cluster can reach these ports.
const portConnections = 64

// probes returns the handlers of /healthz and /readyz. The pod is ready while function ready returns nil.
func probes(ready healthz.Checker) map[string]http.Handler {
	// The response to /readyz does not contain the error of function ready, only the log does.
	readyz := &healthz.Handler{Checks: map[string]healthz.Checker{"ready": ready}}
	return map[string]http.Handler{"/healthz": healthz.CheckHandler{Checker: healthz.Ping}, "/readyz": http.StripPrefix("/readyz", readyz)}
}

// serveCallers adds a server for handlers, by path, to mgr. Unlike the servers of controller-runtime, it limits the number
// of connections. If the address is "0", serveCallers does nothing.
func serveCallers(mgr ctrl.Manager, address string, handlers map[string]http.Handler) error {
	if address == "0" {
		return nil
	}
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.Handle(path, h)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s, l := callers.NewServer(mux, l, portConnections)
	return mgr.Add(&manager.Server{Name: strings.Join(slices.Sorted(maps.Keys(handlers)), " "), Server: s, Listener: l, ShutdownTimeout: new(shutdownTimeout)})
}
