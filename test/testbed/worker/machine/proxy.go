// This file decides how a node offers its API server to itself: HAProxy on an
// address of the loopback, as HyperShift's nodes do. It checks nothing.

package machine

import (
	"fmt"
	"net"
	"net/url"
)

// InternalAPI is where a HyperShift node's pods find the API server.
const InternalAPI = "172.20.0.1:6443"

// proxyConfig is HAProxy's configuration with HyperShift's values: one server, its
// name resolved once at the start, no check.
func proxyConfig(api *url.URL) string {
	server := net.JoinHostPort(api.Hostname(), portOf(api))
	return fmt.Sprintf(`global
  maxconn 7000
  log stdout format raw local0
defaults
  mode tcp
  log global
  option tcplog
  retries 3
  timeout connect 10s
  timeout client 10m
  timeout server 10m
  timeout client-fin 5s
  timeout server-fin 5s
  timeout queue 5s
frontend local_apiserver
  bind %s
  default_backend remote_apiserver
backend remote_apiserver
  server controlplane %s
`, InternalAPI, server)
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return "443"
}

// proxyScript restarts HAProxy as kubelet would: a name that does not resolve yet
// ends it.
const proxyScript = `ip addr replace 172.20.0.1/32 brd 172.20.0.1 scope host dev lo
while :; do haproxy -db -f "$1"; sleep 1; done`

// StartProxy offers api on InternalAPI.
func (m *Machine) StartProxy(api *url.URL) error {
	file, err := m.WriteFile("haproxy.cfg", []byte(proxyConfig(api)), 0o644)
	if err != nil {
		return err
	}
	return m.Start("haproxy", nil, "sh", "-c", proxyScript, "sh", file)
}
