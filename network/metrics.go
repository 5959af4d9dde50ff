// This file decides where the metrics of an edge are served.

package network

// MetricsPort is the TCP port of the metrics of an edge, on the pod network's device.
const MetricsPort = 9753

// serveMetrics is p with the port of metrics on each network. Retained networks are among them.
func (p Plan) serveMetrics() Plan {
	return p.withEach(func(n *Network) { n.MetricsPort = MetricsPort })
}
