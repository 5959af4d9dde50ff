// This file holds connections on which both sides speak. The server numbers all that it sends, so a client sees
// whether it got everything.

package halfdead

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/gomega"

	"github.com/cldmnky/oooi/test/patience"
)

// talkPath is where the API server turns a connection into a talk.
const talkPath = "/talk"

// What the server sends: an answer to one byte, or something of its own accord, and then its number on this connection.
const answer, pushed = 'a', 'p'

// said is the length of what the server sends at once, in bytes.
const said = 1 + 8

// talks are the server's ends.
type talks struct {
	mu  sync.Mutex
	all []*talk
}

// A talk is one of them.
type talk struct {
	conn net.Conn
	mu   sync.Mutex
	sent uint64
}

// say sends the next number.
func (t *talk) say(kind byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sent++
	_, err := t.conn.Write(binary.BigEndian.AppendUint64([]byte{kind}, t.sent))
	return err
}

// ServeHTTP answers each byte of one connection.
func (s *talks) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	t := &talk{conn: conn}
	s.mu.Lock()
	s.all = append(s.all, t)
	s.mu.Unlock()
	for {
		if _, err := buffered.ReadByte(); err != nil {
			return
		}
		if err := t.say(answer); err != nil {
			return
		}
	}
}

// push says something on each connection.
func (s *talks) push() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		_ = t.say(pushed) // The client notices if the connection is gone.
	}
}

// count returns how many connections there were.
func (s *talks) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// sent is what the server sent so far, in all.
func (s *talks) sent() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		t.mu.Lock()
		n += t.sent
		t.mu.Unlock()
	}
	return n
}

func (s *talks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		_ = t.conn.Close()
	}
}

// A conversation is a VM's ends.
type conversation struct {
	*site
	// floor is held by each client from its byte until the answer, and by pause.
	floor   sync.RWMutex
	running sync.WaitGroup
	stop    context.CancelFunc
	all     []*client
}

// A client is one of them.
type client struct {
	conn *tls.Conn
	// answers has a value for each answer.
	answers chan struct{}

	mu sync.Mutex
	// asked and answered count bytes and answers, heard all that the server said.
	asked, answered int
	heard           uint64
	// longest is the longest time between a byte and its answer.
	longest time.Duration
	err     error
}

// converse opens connections, and asks on each of them five times a second, one byte after the other.
func (s *site) converse(v *vm, connections int) *conversation {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	c := &conversation{site: s, stop: cancel}
	for range connections {
		raw, err := v.dial(ctx, "tcp", net.JoinHostPort(v.target, apiPort))
		s.g.Expect(err).NotTo(HaveOccurred())
		one := &client{conn: tls.Client(raw, &tls.Config{InsecureSkipVerify: true}), answers: make(chan struct{}, 1)} //nolint:gosec // The way is measured, not the server.
		s.Cleanup(func() { _ = one.conn.Close() })
		_, err = fmt.Fprintf(one.conn, "GET %s HTTP/1.1\r\nHost: api\r\n\r\n", talkPath)
		s.g.Expect(err).NotTo(HaveOccurred())
		c.all = append(c.all, one)
		c.running.Go(one.listen)
		c.running.Go(func() { c.ask(ctx, one) })
	}
	s.Cleanup(func() { c.closes() })
	c.settles()
	return c
}

// listen reads until the connection ends. Numbers that are out of order are an error.
func (c *client) listen() {
	from, message := bufio.NewReader(c.conn), make([]byte, said)
	for {
		_, err := io.ReadFull(from, message)
		c.mu.Lock()
		n := binary.BigEndian.Uint64(message[1:])
		switch {
		case c.err != nil:
		case err != nil:
			c.err = err
		case n != c.heard+1:
			c.err = fmt.Errorf("number %d after %d", n, c.heard)
		}
		failed := c.err != nil
		if !failed {
			c.heard = n
		}
		c.mu.Unlock()
		if failed {
			close(c.answers)
			return
		}
		if message[0] == answer {
			c.answers <- struct{}{}
		}
	}
}

// ask sends bytes, each after the answer to the one before, until the connection or ctx ends.
func (c *conversation) ask(ctx context.Context, one *client) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		c.floor.RLock()
		open := one.once()
		c.floor.RUnlock()
		if !open {
			return
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// once sends one byte and waits for its answer. It returns false if the connection has ended.
func (c *client) once() bool {
	began := time.Now()
	c.mu.Lock()
	c.asked++
	c.mu.Unlock()
	if _, err := c.conn.Write([]byte{1}); err != nil {
		c.mu.Lock()
		c.err = err
		c.mu.Unlock()
		return false
	}
	_, open := <-c.answers
	c.mu.Lock()
	defer c.mu.Unlock()
	if open {
		c.answered++
		c.longest = max(c.longest, time.Since(began))
	}
	return open
}

// pause waits until each byte has its answer. Then the VM only listens, until resume.
func (c *conversation) pause() (resume func()) {
	c.floor.Lock()
	return c.floor.Unlock
}

// settles waits until each connection has the answer to a byte that was sent after the call.
func (c *conversation) settles() {
	c.Helper()
	before := make([]int, len(c.all))
	for i, one := range c.all {
		one.mu.Lock()
		before[i] = one.asked
		one.mu.Unlock()
	}
	for i, one := range c.all {
		c.g.Eventually(func(g Gomega) {
			one.mu.Lock()
			defer one.mu.Unlock()
			if one.err != nil {
				StopTrying(fmt.Sprintf("connection %d ended: %v", i, one.err)).Now()
			}
			g.Expect(one.answered).To(BeNumerically(">", before[i]))
		}, patience.Limit, "20ms").Should(Succeed(), "connection %d gets no answer", i)
	}
}

// heard returns what all clients heard.
func (c *conversation) heard() (n uint64) {
	for _, one := range c.all {
		one.mu.Lock()
		n += one.heard
		one.mu.Unlock()
	}
	return n
}

// hearsAll waits until the clients heard all that the server said.
func (c *conversation) hearsAll() {
	c.Helper()
	c.g.Eventually(c.heard, 3*patience.Limit, "20ms").Should(Equal(c.talks.sent()), "something is lost")
}

// forgetSilence begins a new measurement of silence.
func (c *conversation) forgetSilence() {
	for _, one := range c.all {
		one.mu.Lock()
		one.longest = 0
		one.mu.Unlock()
	}
}

// silence is the longest time that a connection waited for an answer.
func (c *conversation) silence() (longest time.Duration) {
	for _, one := range c.all {
		one.mu.Lock()
		longest = max(longest, one.longest)
		one.mu.Unlock()
	}
	return longest
}

// end ends the conversation, and fails if a client did not hear all that the server said, or a connection ended before.
func (c *conversation) end() {
	c.Helper()
	defer c.pause()()
	c.hearsAll()
	for i, one := range c.all {
		one.mu.Lock()
		c.g.Expect(one.err).NotTo(HaveOccurred(), "connection %d", i)
		c.g.Expect(one.answered).To(Equal(one.asked), "connection %d", i)
		one.mu.Unlock()
	}
}

// closes closes all connections and waits for the clients.
func (c *conversation) closes() {
	c.stop()
	for _, one := range c.all {
		_ = one.conn.Close()
	}
	c.running.Wait()
}
