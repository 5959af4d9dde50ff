// This file starts the program that applies the admission policies of oooi where the Operator
// Lifecycle Manager installed it. It decides nothing: the policies are embedded.

package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/controllers"
)

// applyPolicies is how soon a policy is restored.
const applyPolicies = time.Minute

func newAdmissionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "admission",
		Short: "Apply the admission policies that limit the operator and the edges",
		Long: `Applies the ValidatingAdmissionPolicies that limit what the operator and its edges may write,
and restores them every minute. The Operator Lifecycle Manager runs it, because a bundle cannot
hold a policy. With kustomize, config/default has the policies.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return err
			}
			log := managerLog(os.Stderr)
			ctrl.SetLogger(log)
			api, err := client.New(config, client.Options{Scheme: scheme.Scheme})
			if err != nil {
				return err
			}
			keeper := controllers.AdmissionKeeper{Client: api, Log: log.WithName("admission"), Interval: applyPolicies}
			return keeper.Run(c.Context())
		},
	}
}
