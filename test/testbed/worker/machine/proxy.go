// This file starts HAProxy on an address of the loopback interface, through which pods of a HyperShift node reach the API server.

package machine

import (
	"fmt"
	"net"
	"net/url"
)

// InternalAPI is the address of the API server for pods on a HyperShift node.
const InternalAPI = "172.20.0.1:6443"

// proxyConfig returns HAProxy's configuration with HyperShift's values. It has one server without health checks. Its name is resolved
// once, when HAProxy starts.
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

// proxyScript is a shell script that restarts HAProxy, as kubelet would. HAProxy ends if the name does not resolve yet.
const proxyScript = `ip addr replace 172.20.0.1/32 brd 172.20.0.1 scope host dev lo
while :; do haproxy -db -f "$1"; sleep 1; done`

// StartProxy starts HAProxy, which forwards connections to InternalAPI to the API server api.
func (m *Machine) StartProxy(api *url.URL) error {
	file, err := m.WriteFile("haproxy.cfg", []byte(proxyConfig(api)), 0o644)
	if err != nil {
		return err
	}
	return m.Start("haproxy", nil, "sh", "-c", proxyScript, "sh", file)
}
