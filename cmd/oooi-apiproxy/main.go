// Command oooi-apiproxy is a proxy between a Kubernetes client and an API server that use different names for some
// groups, kinds and resources. Package hcp/apirewrite decides what is renamed.
//
// It runs as a gateway or as a sidecar. A gateway serves many clients. It forwards the token of each client, and has no
// rights itself. It cannot forward a client certificate. A sidecar serves the containers of its pod, with the rights of the
// pod. It writes a kubeconfig with a token that clients must send. The file has mode 0600, so clients need the same uid.
//
// With --webhook-listen, the program also receives webhook calls from the API server. It forwards AdmissionReviews of version
// v1 to a webhook server that uses the client's names.
//
// This file lists the commands.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/version"
)

const program = "oooi-apiproxy"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newRootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, program+": "+err.Error())
		os.Exit(1)
	}
}

func newRootCommand() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:           program,
		Short:         "Translates names of groups, kinds and resources between a Kubernetes client and an API server",
		Version:       version.Of(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.ErrOrStderr()) },
	}
	o.add(c)
	_ = c.MarkFlagRequired("rules")
	c.AddCommand(newRulesCommand())
	return c
}
