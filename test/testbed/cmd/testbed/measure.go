// This file parses the arguments of `testbed measure`.

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cldmnky/oooi/test/measure"
	"github.com/cldmnky/oooi/test/testbed/lan"
	"github.com/cldmnky/oooi/test/testbed/lease"
)

// measureCommand returns the command that measures from a network namespace until it is interrupted, and prints the report as
// JSON.
func measureCommand() *cobra.Command {
	var (
		o      measure.Options
		from   string
		renew  string
		length time.Duration
	)
	verb := &cobra.Command{
		Use:   "measure --from NETNS [--api ADDRESS:PORT] [--dns ADDRESS:PORT --question NAME] [--ntp ADDRESS:PORT] [--renew NETNS:CARD]",
		Short: "Say for how long, and how often, what a machine wants fails",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.API == "" && o.DNS == "" && o.NTP == "" && renew == "" {
				return fmt.Errorf("nothing to ask: want --api, --dns, --ntp or --renew")
			}
			o.Dial = lan.DialNetNS(named(from))
			ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
			if length > 0 {
				ctx, cancel = context.WithTimeout(ctx, length)
			}
			defer cancel()
			if renew != "" {
				where, card, _ := strings.Cut(renew, ":")
				dir, err := os.MkdirTemp("", "oooi-renew-")
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				client, err := lease.NewClient(ctx, named(where), card, dir)
				if err != nil {
					return err
				}
				o.Renew = client.Renew
			}
			m := measure.Start(ctx, o)
			<-ctx.Done()
			text, err := json.MarshalIndent(m.Wait(), "", "  ")
			if err == nil {
				fmt.Println(string(text))
			}
			return err
		},
	}
	flags := verb.Flags()
	flags.StringVar(&from, "from", "", "network namespace to ask from: its name, as of a worker in /run/netns, or its path")
	flags.StringVar(&o.API, "api", "", "HTTPS server to connect to, an IP and a port")
	flags.StringVar(&o.ServerName, "server-name", "", "name to say in TLS; nothing is verified")
	flags.IntVar(&o.Long, "long", 2, "how many connections are to stay")
	flags.StringVar(&o.DNS, "dns", "", "DNS server to ask, an IP and a port")
	flags.StringVar(&o.Question, "question", "", "name to ask it for")
	flags.StringVar(&o.NTP, "ntp", "", "NTP server to ask, an IP and a port")
	flags.StringVar(&renew, "renew", "", "network namespace and `NETNS:CARD` on the VLAN that no DHCP client holds: it gets a lease, which is renewed")
	flags.DurationVar(&o.Every, "every", 50*time.Millisecond, "interval of new connections and questions")
	flags.DurationVar(&length, "for", 0, "how long; 0 until interrupted")
	_ = verb.MarkFlagRequired("from") // The flag exists.
	return verb
}

// named returns the path of a network namespace. netns is its name or its path.
func named(netns string) string {
	if filepath.IsAbs(netns) {
		return netns
	}
	return lan.NetNSPath(netns)
}
