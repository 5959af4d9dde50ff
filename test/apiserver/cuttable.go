// This file plays an API server that an edge loses.

package apiserver

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// Cuttable returns a config for the same API server, whose connections end when cut is called. None is made after that.
func Cuttable(t testing.TB, config *rest.Config) (through *rest.Config, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	to := strings.Trim(strings.TrimPrefix(config.Host, "https://"), "/")
	through = rest.CopyConfig(config)
	through.Host = "https://" + l.Addr().String()
	var mu sync.Mutex
	var all []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				_ = c.Close()
				continue
			}
			mu.Lock()
			all = append(all, c, s)
			mu.Unlock()
			go func() { _, _ = io.Copy(c, s) }()
			go func() { _, _ = io.Copy(s, c) }()
		}
	}()
	cut = func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range all {
			_ = c.Close()
		}
	}
	t.Cleanup(cut)
	return through, cut
}
