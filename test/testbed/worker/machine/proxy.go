// This file starts HAProxy on an address of the loopback interface, through which pods of a HyperShift node reach the API server.

package machine

// InternalAPI is the address of the API server for pods on a HyperShift node.
const InternalAPI = "172.20.0.1:6443"

// proxyScript is a shell script that restarts HAProxy, as kubelet would. HAProxy ends if the name does not resolve yet.
const proxyScript = `bash "$1"
while :; do haproxy -db -f "$2"; sleep 1; done`

// StartProxy starts HAProxy with the configuration in files, which forwards connections to InternalAPI to the API server.
func (m *Machine) StartProxy(files Payload) error {
	setup, err := m.WriteFile("setup-apiserver-ip.sh", files[haproxySetup], 0o755)
	if err != nil {
		return err
	}
	config, err := m.WriteFile("haproxy.cfg", files[haproxyConf], 0o644)
	if err != nil {
		return err
	}
	return m.Start("haproxy", nil, "sh", "-c", proxyScript, "sh", setup, config)
}
