// This file is the client and the backend of the bench, which run as processes of their own.

package proxybench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cldmnky/oooi/test/programs"
)

// question is the size of a message of a round trip, in bytes.
const question = 64

// What a client asks a backend for, with the first byte. A ClientHello is the other kind.
const echo, download = 'e', 'd'

// A load is what a client process does, and with what.
type load struct {
	// Kind is raw, tls, download, echo or idle.
	Kind, Address, ServerName string
	// Count is how many connections are opened at a time.
	Count int
	// For is how long connections follow each other. Those that are idle stay, and each of Count is followed by Open - 1 others.
	For  time.Duration
	Open int
}

// A report is what a load did.
type report struct {
	Connections int
	Bytes       int64
	Took        time.Duration
	// Latencies are the quickest half's slowest and the hundredth slowest of a hundred round trips.
	Median, P99 time.Duration
	Failed      string
	open        []net.Conn
}

// TestMain makes the test binary the client and the backend, too.
func TestMain(m *testing.M) {
	programs.Main(m, func() {
		switch os.Args[1] {
		case "backend":
			panic(serve(os.Args[2]))
		case "control":
			if err := control(os.Args[2]); err != nil {
				panic(err)
			}
			return
		}
		var l load
		if err := json.Unmarshal([]byte(os.Args[2]), &l); err != nil {
			panic(err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(l.run()); err != nil {
			panic(err)
		}
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
			answer(c)
			_ = c.Close()
		}()
	}
}

// answer serves one connection until its client ends it.
func answer(c net.Conn) {
	first := make([]byte, 4096)
	n, err := io.ReadAtLeast(c, first, 5)
	if err != nil {
		return
	}
	switch first[0] {
	case echo:
		for err == nil {
			if _, err = c.Write(first[:question]); err == nil {
				_, err = io.ReadFull(c, first[:question])
			}
		}
	case download:
		for chunk := make([]byte, 256<<10); err == nil; {
			_, err = c.Write(chunk)
		}
	case programs.HandshakeByte:
		if programs.AnswerShake(c, first[:n]) == nil {
			_, _ = c.Read(first)
		}
	}
}

// run returns the report of a load.
func (l load) run() (out report) {
	began := time.Now()
	first := append([]byte{echo}, make([]byte, question-1)...)
	if l.ServerName != "" {
		first = programs.ClientHello(l.ServerName)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range l.Count {
		all.Go(func() {
			r := l.one(i, first, began.Add(l.For))
			mu.Lock()
			defer mu.Unlock()
			out.Connections, out.Bytes = out.Connections+r.Connections, out.Bytes+r.Bytes
			out.Median, out.P99 = max(out.Median, r.Median), max(out.P99, r.P99)
			out.Failed, out.open = max(out.Failed, r.Failed), append(out.open, r.open...)
		})
	}
	all.Wait()
	out.Took = time.Since(began)
	if l.Kind == "idle" {
		// Its connections stay open until the test has seen enough.
		_ = json.NewEncoder(os.Stdout).Encode(out)
		_, _ = io.Copy(io.Discard, os.Stdin)
		runtime.KeepAlive(out.open)
	}
	return out
}

// ofSource is how many idle connections one source has. It is far from the share of a source.
const ofSource = 50

// dial opens a connection as one of many VMs would, so that each keeps to its share.
func (l load) dial(client, before int) (net.Conn, error) {
	from := net.TCPAddr{IP: net.IPv4(127, 2, byte(before/ofSource), byte(1+client))}
	return (&net.Dialer{LocalAddr: &from}).Dial("tcp4", l.Address)
}

// one is what one of the connections at a time does until end.
func (l load) one(client int, first []byte, end time.Time) (out report) {
	for {
		c, err := l.dial(client, len(out.open))
		if err == nil {
			err = l.use(c, first, end, &out)
		}
		if err != nil {
			out.Failed = err.Error()
			return out
		}
		out.Connections++
		if l.Kind == "idle" {
			out.open = append(out.open, c)
		} else {
			_ = c.Close()
		}
		if len(out.open) >= l.Open && !time.Now().Before(end) {
			return out
		}
	}
}

// use does with one connection what the load is about.
func (l load) use(c net.Conn, first []byte, end time.Time, out *report) error {
	_ = c.SetDeadline(end.Add(time.Minute))
	switch l.Kind {
	case "download":
		return l.receive(c, end, out)
	case "echo":
		return l.ask(c, first, end, out)
	}
	err := error(nil)
	if l.ServerName != "" {
		err = programs.Shake(c, first)
	} else if _, err = c.Write(first); err == nil {
		_, err = io.ReadFull(c, make([]byte, question))
	}
	if err != nil {
		return fmt.Errorf("connection %d: %w", out.Connections, err)
	}
	return nil
}

// receive counts what comes until end.
func (l load) receive(c net.Conn, end time.Time, out *report) error {
	if _, err := c.Write([]byte{download, 0, 0, 0, 0}); err != nil {
		return err
	}
	_ = c.SetDeadline(end)
	for into := make([]byte, 256<<10); ; {
		n, err := c.Read(into)
		out.Bytes += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// ask counts how long round trips take until end.
func (l load) ask(c net.Conn, first []byte, end time.Time, out *report) error {
	var took []time.Duration
	for began := time.Now(); began.Before(end); began = time.Now() {
		if _, err := c.Write(first); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, first); err != nil {
			return err
		}
		first[0] = echo
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	out.Median, out.P99 = took[len(took)/2], took[len(took)*99/100]
	return nil
}
