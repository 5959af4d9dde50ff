// This file has the command `testbed hypershift`, with a subcommand for each function of the package.
package hypershift

import (
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2/textlogger"

	"github.com/cldmnky/oooi/test/testbed/cluster"
)

// Command returns the command `testbed hypershift` for the cluster with this name.
func Command(name *string) *cobra.Command {
	cmd := &cobra.Command{Use: "hypershift", Short: "HyperShift: install it, make and destroy hosted clusters"}
	attach := func(cmd *cobra.Command) (*HyperShift, error) {
		c, err := cluster.Attach(*name)
		if err != nil {
			return nil, err
		}
		return Attach(c, cmd.ErrOrStderr())
	}
	cmd.AddCommand(upCommand(name), createCommand(attach), destroyCommand(attach), guestCommand(attach), kubectlCommand(attach), dumpCommand(attach), payloadCommand(attach), worldCommand(name))
	return cmd
}

func upCommand(name *string) *cobra.Command {
	var o Options
	cmd := &cobra.Command{Use: "up", Short: "bring the testbed up and install HyperShift on it", Args: cobra.NoArgs}
	cmd.Flags().StringSliceVar(&o.Keep, "keep", nil, "components of hosted control planes that really run (default: all that can)")
	cmd.Flags().BoolVar(&o.Mini, "mini", false, "run only what makes Services, Routes and status")
	cmd.Flags().StringVar(&o.APIRules, "api-rules", "", "file with the names that KubeVirt has on it (default: its own)")
	addresses := cmd.Flags().String("vm-addresses", "", "VMs without a guest claim addresses of this CIDR (default: none)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if *addresses != "" {
			if o.VMAddresses, err = netip.ParsePrefix(*addresses); err != nil {
				return err
			}
		}
		o.Log = cmd.ErrOrStderr()
		c, err := cluster.Up(cmd.Context(), cluster.Options{Name: *name, Log: o.Log})
		if err != nil {
			return err
		}
		_, err = Install(cmd.Context(), c, o)
		return err
	}
	return cmd
}

func createCommand(attach func(*cobra.Command) (*HyperShift, error)) *cobra.Command {
	var o HostedClusterOptions
	var strategy, cidr string
	var guest bool
	cmd := &cobra.Command{Use: "create NAME", Short: "create a hosted cluster with HyperShift's CLI and wait until it is available", Args: cobra.ExactArgs(1)}
	f := cmd.Flags()
	f.StringVar(&strategy, "strategy", string(LoadBalancerIP), fmt.Sprintf("how it is published: one of %v", Strategies()))
	f.IntVar(&o.VLAN, "vlan", 100, "VLAN of its VMs; 0: the pod network")
	f.StringVar(&cidr, "machine-cidr", "192.168.100.0/24", "the VLAN's addresses")
	f.StringVar(&o.BaseDomain, "base-domain", "example.com", "its names are <what>.NAME.<base domain>")
	f.IntVar(&o.Replicas, "replicas", 1, "VMs")
	f.StringToStringVar(&o.Annotations, "annotation", nil, "annotations of the HostedCluster, key=value")
	f.StringArrayVar(&o.Flags, "flag", nil, "a further flag of `hypershift create cluster kubevirt`, as --flag=--name=value")
	f.BoolVar(&o.Mini, "mini", false, "run only what makes Services, Routes and status, and wait for the endpoint only")
	f.BoolVar(&guest, "guest", true, "play the cluster version operator in it")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		o.Name, o.Strategy = args[0], Strategy(strategy)
		if o.MachineCIDR, err = netip.ParsePrefix(cidr); err != nil {
			return err
		}
		h, err := attach(cmd)
		if err != nil {
			return err
		}
		if err := h.Create(cmd.Context(), o); err != nil {
			return err
		}
		if _, _, err := h.WaitEndpoint(cmd.Context(), o.Name); err != nil || o.Mini {
			return err
		}
		if guest {
			if err := h.BootstrapGuest(cmd.Context(), o.Name); err != nil {
				return err
			}
		}
		return h.WaitAvailable(cmd.Context(), o.Name)
	}
	return cmd
}

func destroyCommand(attach func(*cobra.Command) (*HyperShift, error)) *cobra.Command {
	return &cobra.Command{
		Use: "destroy NAME", Short: "destroy a hosted cluster with HyperShift's CLI and wait until it is gone", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := attach(cmd)
			if err != nil {
				return err
			}
			return h.Destroy(cmd.Context(), args[0])
		},
	}
}

func guestCommand(attach func(*cobra.Command) (*HyperShift, error)) *cobra.Command {
	return &cobra.Command{
		Use: "guest NAME", Short: "play the cluster version operator in a hosted cluster (`create` does this)", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := attach(cmd)
			if err != nil {
				return err
			}
			return h.BootstrapGuest(cmd.Context(), args[0])
		},
	}
}

func kubectlCommand(attach func(*cobra.Command) (*HyperShift, error)) *cobra.Command {
	return &cobra.Command{
		Use: "kubectl NAME -- ARGS...", Short: "kubectl in a hosted cluster, as its administrator", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := attach(cmd)
			if err != nil {
				return err
			}
			k, err := h.guestKubectl(cmd.Context(), args[0], args[1:]...)
			if err != nil {
				return err
			}
			k.Stdin, k.Stdout, k.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return k.Run()
		},
	}
}

func dumpCommand(attach func(*cobra.Command) (*HyperShift, error)) *cobra.Command {
	return &cobra.Command{
		Use: "dump NAME", Short: "print what the product reads of a hosted cluster, as a story of test/scenarios", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := attach(cmd)
			if err != nil {
				return err
			}
			story, err := h.Dump(cmd.Context(), args[0])
			fmt.Fprintf(cmd.OutOrStdout(), "---\n%s", story)
			return err
		},
	}
}

func payloadCommand(attach func(*cobra.Command) (*HyperShift, error)) *cobra.Command {
	return &cobra.Command{
		Use: "payload", Short: "print the path of the payload image's tar", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := attach(cmd)
			if err != nil {
				return err
			}
			tar, err := h.PayloadTar(cmd.Context())
			fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(tar))
			return err
		},
	}
}

func worldCommand(name *string) *cobra.Command {
	cmd := &cobra.Command{Use: "world", Short: "play cloud, router, KubeVirt and storage until ended (`up` starts this)", Args: cobra.NoArgs}
	addresses := cmd.Flags().String("vm-addresses", "", "see up")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := cluster.Attach(*name)
		if err != nil {
			return err
		}
		h, err := open(c, nil)
		if err != nil {
			return err
		}
		config, err := h.RESTConfig()
		if err != nil {
			return err
		}
		o := WorldOptions{VolumeDir: volumeDir(c), Log: worldLog()}
		if *addresses != "" {
			if o.VMAddresses, err = netip.ParsePrefix(*addresses); err != nil {
				return err
			}
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return PlayWorld(ctx, config, o)
	}
	return cmd
}

func worldLog() logr.Logger {
	return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(os.Stderr)))
}
