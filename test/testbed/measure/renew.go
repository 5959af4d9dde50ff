// A DHCP client that renews when it is told to. It is a real one, busybox's udhcpc;
// what it is offered is the measured server's.

package measure

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

//go:embed renew.sh
var renewScript []byte

// stateVariable has the testbed's Down find the client, where dir is beneath the
// cluster's.
const stateVariable = "OOOI_TESTBED_STATE"

// A Client is a udhcpc on a card of its own.
type Client struct {
	cmd  *exec.Cmd
	said <-chan event

	mu    sync.Mutex // one Renew at a time
	bound bool
}

// An event is what the client's script said.
type event struct {
	name    string
	address string
}

// StartClient starts the client on the card ifname of the network namespace at path,
// which it gives the address and the routes that it is told. Its script is left in
// dir. It ends with ctx.
func StartClient(ctx context.Context, path, ifname, dir string) (*Client, error) {
	script := filepath.Join(dir, "renew.sh")
	if err := os.WriteFile(script, renewScript, 0o755); err != nil {
		return nil, err
	}
	// One that is told to renew asks its server once, everybody three times, -T seconds
	// apart, and then gives its address up: it bears 8 seconds without a server.
	cmd := exec.CommandContext(ctx, "nsenter", "--net="+path, "--", "udhcpc", "-f", "-i", ifname, "-s", script, "-t", "0", "-T", "2",
		"-O", "staticroutes")
	cmd.Env = append(os.Environ(), stateVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("udhcpc: %w", err)
	}
	said := make(chan event, 64)
	go func() {
		defer close(said)
		read(out, said)
		_ = cmd.Wait()
	}()
	return &Client{cmd: cmd, said: said}, nil
}

// read hands on the lines that the script wrote.
func read(from io.Reader, said chan<- event) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 && f[0] == "event" {
			e := event{name: f[1]}
			if len(f) > 2 {
				e.address = f[2]
			}
			said <- e
		}
	}
}

var errClientEnded = errors.New("the DHCP client ended")

// Renew tells the client to renew, if it has an address, and waits until it has one by
// an answer that came since. Lost says that it gave the last one up meanwhile.
func (c *Client) Renew(ctx context.Context) (address netip.Addr, lost bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bound { // told twice, it gives up its address
		if err := c.cmd.Process.Signal(syscall.SIGUSR1); err != nil {
			return netip.Addr{}, false, err
		}
	}
	for had := c.bound; ; {
		c.bound = false
		select {
		case <-ctx.Done():
			return netip.Addr{}, lost, ctx.Err()
		case e, ok := <-c.said:
			if !ok {
				return netip.Addr{}, lost, errClientEnded
			}
			switch e.name {
			case "deconfig":
				lost = had
			case "bound", "renew":
				c.bound = true
				address, err = netip.ParseAddr(e.address)
				return address, lost, err
			}
		}
	}
}
