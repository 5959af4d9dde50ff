// Package localaccess implements `oooi access`, which gives programs on a user's own machine access to destinations on the
// network of a hosted cluster. It runs a local HTTP proxy, which opens a tunnel for each connection: through the access
// proxy, a container of an edge, to the destination. The access proxy decides which destinations are open, by the annotation
// management-access. This file has the flags, and connects the parts.
package localaccess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/cmd/oooi/command"
	"github.com/cldmnky/oooi/edge/wire"
	"github.com/cldmnky/oooi/hcp"
	"github.com/cldmnky/oooi/network"
)

const (
	// accessListens is the address at which `oooi access` listens by default, and commandListens that with a command. Port 0
	// is any free port.
	accessListens, commandListens = "127.0.0.1:3128", "127.0.0.1:0"
)

type accessRequest struct {
	cluster command.ClusterFlags
	// name is that of the HostedCluster. Zero: proxy is used instead.
	name    client.ObjectKey
	network string
	// proxy is the "host:port" of an access proxy. Empty: edges of the HostedCluster are used instead.
	proxy     string
	tokenFile string
	// account is the ServiceAccount for which tokens are requested. Zero: none.
	account client.ObjectKey
	// listen is the address of the local proxy. Empty: the default.
	listen string
	// stdio is the "host:port" of the destination that standard input and output are connected to. Empty: programs connect
	// to listen.
	stdio   string
	command []string
}

// New returns the command `oooi access`.
func New() *cobra.Command {
	var a accessRequest
	var proxy, account string
	c := &cobra.Command{
		Use:                   "access [NAME] [flags] [-- COMMAND...]",
		DisableFlagsInUseLine: true,
		Short:                 "Reach nodes and other hosts on the network of a hosted cluster from your computer",
		Long: `Runs an HTTP proxy on your computer. It forwards connections through an edge of
the HostedCluster to the destinations that annotation management-access opens.
The proxy reaches the edge by a port-forward of the API server. You need the
rights to list pods and to create pods/portforward in the control plane
namespace. If an edge stops, its connections end, and new ones go through
another edge.

With a COMMAND, the proxy listens on a free port and sets HTTPS_PROXY and
HTTP_PROXY for the command. It unsets NO_PROXY. Other programs on this computer
can use the port, too.

With --stdio, standard input and output carry one connection, as ProxyCommand of
ssh requires.

With --proxy, connections go through the access proxy at that URL, and no
cluster is needed. This helps programs that cannot send a token: --token-file
adds one to each connection, and is read each time.

oooi exits with the code of COMMAND, or with 126 or 127 if it cannot start it.`,
		Example: `  oooi access clusters/blue
  oooi access clusters/blue -- curl -k https://worker-1:10250/healthz
  ssh -o ProxyCommand='oooi access clusters/blue --stdio %h:%p' core@worker-1
  oooi access --proxy http://oooi-access.clusters-blue.svc:3128 \
      --token-file /var/run/secrets/oooi/token`,
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err = a.arguments(args, c.ArgsLenAtDash()); err != nil {
				return err
			}
			if err = a.flags(proxy, account); err != nil {
				return err
			}
			return a.run(c)
		},
	}
	a.cluster.Add(c)
	c.Flags().StringVar(&a.listen, "listen", "", "`address` and port to listen at; port 0 is any free port (default "+accessListens+", or "+commandListens+" with a COMMAND)")
	c.Flags().StringVar(&a.stdio, "stdio", "", "connect standard input and output to this `destination:port`, and do not listen")
	c.Flags().StringVar(&a.network, "network", "", "use only edges of the network with this `name` (default: the first network that opens the destination)")
	c.Flags().StringVar(&proxy, "proxy", "", "`URL` of an access proxy to use instead of edges of a HostedCluster")
	c.Flags().StringVar(&a.tokenFile, "token-file", "", "`file` with a token of a ServiceAccount, if the HostedCluster has the annotation management-access-accounts")
	c.Flags().StringVar(&account, "as-account", "", "request tokens of this ServiceAccount, `NAMESPACE/NAME`, from the API server; needs the right to create serviceaccounts/token")
	c.MarkFlagsMutuallyExclusive("token-file", "as-account")
	c.ValidArgsFunction = func(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if c.ArgsLenAtDash() >= 0 {
			return nil, cobra.ShellCompDirectiveDefault // a program, or its arguments
		}
		return command.CompleteClusters(&a.cluster)(c, args, begun)
	}
	return c
}

// arguments sets the name and the command from args. dash is the number of arguments that precede "--". -1: there is no
// "--".
func (a *accessRequest) arguments(args []string, dash int) (err error) {
	names := args
	if dash >= 0 {
		if names, a.command = args[:dash], args[dash:]; len(a.command) == 0 {
			return errors.New("-- must be followed by a command")
		}
	}
	if len(names) > 1 {
		return fmt.Errorf("unexpected argument %s: write -- before a command", names[1])
	}
	a.name, err = a.cluster.Named(names)
	return err
}

// flags parses the values of --proxy and --as-account, and checks that all flags can be combined.
func (a *accessRequest) flags(proxy, account string) (err error) {
	if proxy != "" {
		if a.proxy, err = proxyAddress(proxy); err != nil {
			return fmt.Errorf("--proxy: %w", err)
		}
	}
	if account != "" {
		namespace, name, ok := strings.Cut(account, "/")
		if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("--as-account %s: want NAMESPACE/NAME of a ServiceAccount", account)
		}
		a.account = client.ObjectKey{Namespace: namespace, Name: name}
	}
	if a.stdio != "" {
		if err := checkDestination(a.stdio); err != nil {
			return fmt.Errorf("--stdio %s: %w", a.stdio, err)
		}
	}
	for _, x := range []struct {
		wrong bool
		why   string
	}{
		{a.proxy == "" && a.name.Name == "", "name a HostedCluster, or an access proxy with --proxy"},
		{a.proxy != "" && a.name != (client.ObjectKey{}), "--proxy names an access proxy: remove the name or the namespace of the HostedCluster"},
		{a.proxy != "" && (a.network != "" || a.account.Name != ""), "--proxy uses no cluster: remove --network and --as-account"},
		{a.stdio != "" && (a.listen != "" || len(a.command) > 0), "--stdio does not listen: remove --listen and the command"},
	} {
		if x.wrong {
			return errors.New(x.why)
		}
	}
	return nil
}

// proxyAddress returns the "host:port" of the URL of an access proxy. An error does not contain the URL, which may have a
// password.
func proxyAddress(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", errors.New("want http://HOST:PORT, such as http://oooi-access.clusters-blue.svc:3128")
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), strconv.Itoa(network.AccessPort))), nil
}

func checkDestination(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err == nil && host != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			return nil
		}
	}
	return errors.New("want DESTINATION:PORT, such as worker-1:22")
}

func (a *accessRequest) run(c *cobra.Command) error {
	warn := func(text string) { command.Complain(c.ErrOrStderr(), text) }
	var l net.Listener
	if a.stdio == "" {
		address := accessListens
		if len(a.command) > 0 {
			address = commandListens
		}
		var warning string
		var err error
		if l, warning, err = listenAt(c.Context(), cmp.Or(a.listen, address)); err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		if warning != "" {
			warn(warning)
		}
	}
	open, err := a.opener(c.Context(), warn)
	if err != nil {
		return err
	}
	if a.stdio != "" {
		return a.connect(c, open)
	}
	// A signal does not end the tunnels of a command: they end after the command.
	ctx, cancel := context.WithCancel(c.Context())
	if len(a.command) > 0 {
		cancel()
		ctx, cancel = context.WithCancel(context.WithoutCancel(c.Context()))
	}
	defer cancel()
	p := &localProxy{ctx: ctx, open: open, refused: func(address string, err error) { warn(a.reason(address, err)) }}
	at := localURL(l)
	if len(a.command) == 0 {
		fmt.Fprintln(c.OutOrStdout(), at)
		return p.serve(l)
	}
	go func() { _ = p.serve(l) }()
	return runThrough(a.command, at, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
}

func (a *accessRequest) connect(c *cobra.Command, open opener) error {
	t, err := open(c.Context(), a.stdio, "")
	if err != nil {
		return errors.New(a.reason(a.stdio, err))
	}
	out := c.OutOrStdout()
	local := localEnd{in: c.InOrStdin(), out: out, closeOut: func() error {
		if f, ok := out.(io.Closer); ok {
			return f.Close()
		}
		return nil
	}}
	if err := carry(c.Context(), t, local); err != nil {
		return fmt.Errorf("%s: %w", command.Printable(a.stdio), err)
	}
	return nil
}

func (a *accessRequest) reason(address string, err error) string {
	text := command.Printable(fmt.Sprintf("%s: %v", address, err))
	var refused *dial.RefusedError
	if !errors.As(err, &refused) {
		return text
	}
	text = command.Printable(fmt.Sprintf("%s: %d %s", address, refused.Status, refused.Reason))
	switch {
	case refused.Status == 401:
		text += ". Name a token with --token-file or --as-account"
	case refused.Status == 403 && refused.Reason == dial.NoVM && a.name.Name != "":
		text += fmt.Sprintf(". oooi status %s lists the leases of VMs", a.name)
	case refused.Status == 403 && a.name.Name != "":
		text += fmt.Sprintf(". Check annotations management-access and management-access-accounts of HostedCluster %s", a.name)
	}
	return text
}

// opener returns an opener of tunnels through the access proxy in --proxy or, without that flag, through edges. It returns
// an error if no edge is Ready. It calls warn when an edge fails and another one is used.
func (a *accessRequest) opener(ctx context.Context, warn func(string)) (opener, error) {
	dialer := dial.Dialer{Proxy: a.proxy, TokenFile: a.tokenFile}
	open := func(ctx context.Context, d dial.Dialer, address string) (tunnel, error) {
		c, err := d.DialContext(ctx, "tcp", address)
		return tunnel{Conn: c}, err
	}
	if a.proxy == "" {
		config, err := a.cluster.Config()
		if err != nil {
			return nil, err
		}
		api, err := command.NewClient(config)
		if err != nil {
			return nil, err
		}
		if a.name, err = a.cluster.Find(ctx, api, a.name); err != nil {
			return nil, err
		}
		set, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		namespace := hcp.UnreadLiveCluster(a.name.Namespace, a.name.Name).ControlPlane
		if a.account.Name != "" {
			dialer.Token = tokensOf(set, a.account, network.AccessObject+"."+namespace).get
		}
		forwards := &podForwarder{config: config, pods: set, namespace: namespace}
		pool := &edgePool{reach: forwards.reach, find: func(ctx context.Context) ([]accessEdge, error) { return a.edges(ctx, set, namespace) },
			left: func(failed []accessEdge, why error, used accessEdge) {
				for _, e := range failed {
					warn(command.Printable(fmt.Sprintf("edge %s failed, using edge %s: %v", e.pod, used.pod, why)))
				}
			}}
		if err := pool.load(ctx); err != nil {
			return nil, err
		}
		open = pool.open
	}
	return func(ctx context.Context, address, token string) (tunnel, error) {
		d := dialer
		if d.TokenFile == "" && d.Token == nil {
			d.Token = func(context.Context) (string, error) { return token, nil }
		}
		return open(ctx, d, address)
	}, nil
}

func (a *accessRequest) edges(ctx context.Context, set kubernetes.Interface, namespace string) ([]accessEdge, error) {
	selector := labels.SelectorFromSet(wire.NamedLabels(wire.NameEdge)).String()
	list, err := set.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("%w list pods in namespace %s: %w. %s#from-a-laptop has a Role", errForbidden, namespace, err, accessPage)
	case err != nil:
		return nil, fmt.Errorf("pods in namespace %s: %w", namespace, err)
	}
	return usable(a.name, len(list.Items), accessEdges(list.Items), wire.NetworkLabel(a.network))
}
