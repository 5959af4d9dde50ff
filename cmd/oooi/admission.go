// This file holds `oooi admission`, which applies the embedded admission policies. It runs only where the Operator
// Lifecycle Manager installed oooi, because a bundle cannot contain a policy.

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/controllers/policies"
)

// applyPolicies is the interval at which the policies are applied. So a changed policy is restored within this time.
const applyPolicies = time.Minute

func newAdmissionCommand() *cobra.Command {
	var namespace, health string
	c := &cobra.Command{
		Use:    "admission",
		Hidden: true, // Only a container runs it.
		Short:  "Apply the admission policies that limit the operator and the edges",
		Long: `Applies the ValidatingAdmissionPolicies that limit what the operator and its edges may write,
and restores them every minute. The Operator Lifecycle Manager runs this command, because a bundle
cannot contain a policy. Without OLM, apply the policies from config/default. The policies also
limit edges that run without the operator, so the policies stay until the operator's namespace is
deleted.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return err
			}
			if namespace == "" {
				return errors.New("the namespace is not known: set --namespace or " + command.EnvNamespace)
			}
			log := managerLog(os.Stderr)
			ctrl.SetLogger(log)
			klog.SetLogger(log)
			api, err := client.New(config, client.Options{Scheme: scheme.Scheme})
			if err != nil {
				return err
			}
			keeper := &policies.Keeper{Client: api, Log: log.WithName("admission"), Namespace: namespace, Interval: applyPolicies}
			// The manager only runs the server and the keeper. It has no controllers.
			mgr, err := ctrl.NewManager(config, ctrl.Options{Logger: log, Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0"})
			if err != nil {
				return fmt.Errorf("setting up the manager: %w", err)
			}
			if err := errors.Join(serveCallers(mgr, health, probes(keeper.Ready)), mgr.Add(manager.RunnableFunc(keeper.Run))); err != nil {
				return err
			}
			return mgr.Start(c.Context())
		},
	}
	c.Flags().StringVar(&namespace, "namespace", os.Getenv(command.EnvNamespace), "the operator's namespace, which owns the policies (default: $"+command.EnvNamespace+")")
	c.Flags().StringVar(&health, "health-probe-bind-address", ":8081", "`address` of /readyz, which reports whether the policies are applied; 0 disables it")
	return c
}
