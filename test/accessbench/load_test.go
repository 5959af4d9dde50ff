// This file is the client and the VM of the bench, which run as processes of their own.

package accessbench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cldmnky/oooi/access/dial"
	"github.com/cldmnky/oooi/test/programs"
)

// question is the size of a message of a round trip, in bytes.
const question = 64

// chunk is the size of what a stream sends at a time, in bytes. The first byte of the last one of an upload is last.
const (
	chunk = 256 << 10
	last  = 1
)

// atOnce is how many connections a client opens at a time, at most. Idle ones stay open.
const atOnce = 32

// What a client asks the VM for, with the first byte.
const (
	echo     = 'e'
	download = 'd'
	upload   = 'u'
)

// A load is what a client process does, and with what.
type load struct {
	// Kind is down, up, echo, dial, idle or tls.
	Kind string
	// Address is dialed, through Proxy unless that is empty. One with a slash is a Unix socket.
	Address, Proxy string
	// Count is how many connections there are at a time.
	Count int
	// For is how long the load lasts. Idle connections stay.
	For time.Duration
	// Every is how often one of Count opens a connection of kind tls. 0: as soon as the one before it has ended.
	Every time.Duration
	// Sources are addresses that idle connections come from, in turn.
	Sources []string
}

// A report is what a load did.
type report struct {
	// Connections are those of kind tls.
	Connections int
	Bytes       int64
	Took        time.Duration
	// Median and P99 are of round trips, or of connections with their first byte.
	Median, P99 time.Duration
	Failed      string
}

// TestMain makes the test binary the client and the VM, too.
func TestMain(m *testing.M) {
	programs.Main(m, func() {
		if os.Args[1] == "vm" {
			panic(serve(os.Args[2]))
		}
		var l load
		if err := json.Unmarshal([]byte(os.Args[2]), &l); err != nil {
			panic(err)
		}
		l.run()
	})
}

// serve answers at an address for ever.
func serve(address string) error {
	l, err := net.Listen("tcp4", address)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			answer(c.(*net.TCPConn))
			_ = c.Close()
		}()
	}
}

// answer serves one connection until its client ends it.
func answer(c *net.TCPConn) {
	first := make([]byte, question)
	if _, err := io.ReadFull(c, first[:1]); err != nil {
		return
	}
	switch first[0] {
	case programs.HandshakeByte:
		if _, err := io.ReadFull(c, first[1:]); err == nil && programs.AnswerShake(c, first) == nil {
			_, _ = c.Read(first)
		}
	case echo:
		_, _ = io.Copy(c, c)
	case download:
		for b := make([]byte, chunk); ; {
			if _, err := c.Write(b); err != nil {
				return
			}
		}
	case upload:
		n := int64(0)
		for b := make([]byte, chunk); b[0] != last; n += chunk {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
		}
		_ = binary.Write(c, binary.BigEndian, n)
	}
}

// dial opens a connection, and sends what it asks for.
func (l load) dial(source string, kind byte) (net.Conn, error) {
	var local net.Dialer
	if source != "" {
		local.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	if strings.Contains(l.Proxy, "/") {
		local.LocalAddr = nil
	}
	forward := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.Contains(address, "/") {
			network = "unix"
		}
		return local.DialContext(ctx, network, address)
	}
	open := forward
	if l.Proxy != "" {
		open = dial.Dialer{Proxy: l.Proxy, Forward: forward}.DialContext
	}
	c, err := open(context.Background(), "tcp", l.Address)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(l.For + 20*time.Second))
	_, err = c.Write([]byte{kind})
	return c, err
}

// run writes the report of a load.
func (l load) run() {
	began := time.Now()
	var mu sync.Mutex
	var out report
	var open []net.Conn
	var all sync.WaitGroup
	opening := make(chan struct{}, atOnce)
	for i := range l.Count {
		all.Go(func() {
			opening <- struct{}{}
			defer func() { <-opening }()
			r, c := l.one(i, began.Add(l.For))
			mu.Lock()
			defer mu.Unlock()
			out.Connections, out.Bytes = out.Connections+r.Connections, out.Bytes+r.Bytes
			out.Median, out.P99, out.Failed = max(out.Median, r.Median), max(out.P99, r.P99), max(out.Failed, r.Failed)
			open = append(open, c)
		})
	}
	all.Wait()
	out.Took = time.Since(began)
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		panic(err)
	}
	if l.Kind == "idle" {
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	runtime.KeepAlive(open)
}

// one is what one of the connections at a time does until end.
func (l load) one(i int, end time.Time) (out report, c net.Conn) {
	var err error
	switch l.Kind {
	case "down":
		c, err = l.receive(end, &out)
	case "up":
		c, err = l.send(end, &out)
	case "echo":
		c, err = l.ask(end, &out)
	case "dial":
		err = l.open(end, &out)
	case "tls":
		err = l.shake(end, &out)
	case "idle":
		if c, err = l.dial(l.Sources[i%len(l.Sources)], echo); err == nil {
			_, err = io.ReadFull(io.MultiReader(writes{c}, c), make([]byte, 1))
		}
	}
	if err != nil {
		out.Failed = err.Error()
	}
	return out, c
}

// writes sends one byte, and has nothing to read.
type writes struct{ io.Writer }

func (w writes) Read([]byte) (int, error) {
	if _, err := w.Write([]byte{1}); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// receive counts what comes until end.
func (l load) receive(end time.Time, out *report) (net.Conn, error) {
	c, err := l.dial("", download)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(end)
	for into := make([]byte, chunk); ; {
		n, err := c.Read(into)
		out.Bytes += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0)
			}
			return nil, c.Close()
		}
		if err != nil {
			return c, err
		}
	}
}

// send sends until end, and then asks the VM how much has arrived. It does not end its direction: konnectivity would lose the answer.
func (l load) send(end time.Time, out *report) (net.Conn, error) {
	c, err := l.dial("", upload)
	for b := make([]byte, chunk); err == nil && b[0] != last; {
		if !time.Now().Before(end) {
			b[0] = last
		}
		_, err = c.Write(b)
	}
	if err == nil {
		err = binary.Read(c, binary.BigEndian, &out.Bytes)
	}
	return c, err
}

// ask counts how long round trips take until end.
func (l load) ask(end time.Time, out *report) (net.Conn, error) {
	c, err := l.dial("", echo)
	var took []time.Duration
	for began := time.Now(); err == nil && began.Before(end); began = time.Now() {
		message := make([]byte, question)
		if _, err = c.Write(message); err == nil {
			_, err = io.ReadFull(c, message)
		}
		took = append(took, time.Since(began))
	}
	out.spread(took)
	return c, err
}

// open counts how long a connection and its first byte take until end.
func (l load) open(end time.Time, out *report) error {
	var took []time.Duration
	for began := time.Now(); began.Before(end); began = time.Now() {
		c, err := l.dial("", echo)
		if err != nil {
			return err
		}
		message := []byte{1}
		if _, err = c.Write(message); err == nil {
			_, err = io.ReadFull(c, message)
		}
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		_ = c.Close()
	}
	out.spread(took)
	return nil
}

func (r *report) spread(took []time.Duration) {
	if len(took) > 0 {
		slices.Sort(took)
		r.Median, r.P99 = took[len(took)/2], took[len(took)*99/100]
	}
}

// shake counts TLS connections until end, and how long each takes from the time at which it was due.
func (l load) shake(end time.Time, out *report) error {
	hello := programs.ClientHello(apiName)
	var took []time.Duration
	for due := time.Now(); due.Before(end) && time.Now().Before(end); {
		<-time.After(time.Until(due))
		c, err := net.Dial("tcp4", l.Address)
		if err != nil {
			return err
		}
		_ = c.SetDeadline(end.Add(time.Minute))
		if err := programs.Shake(c, hello); err != nil {
			return err
		}
		_ = c.Close()
		took = append(took, time.Since(due))
		if due = due.Add(l.Every); l.Every == 0 {
			due = time.Now()
		}
	}
	out.Connections = len(took)
	out.spread(took)
	return nil
}
