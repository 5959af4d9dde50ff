// This file gives a chain a cluster of its own, so that its name can move to another backend
// without a change of its listener: only the endpoints of the cluster change. It is pure.

package envoy

import (
	"crypto/sha256"
	"encoding/hex"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
)

// An own is a chain with a cluster of its own.
type own struct {
	chain     *listenerv3.FilterChain
	cluster   *clusterv3.Cluster
	endpoints *endpointv3.ClusterLoadAssignment
}

// newOwn makes the cluster of c, which r has, the chain's own. Its name depends on how it dials, so it never changes: two
// backends that are dialed alike give equal chains and equal clusters.
func newOwn(listener string, c *listenerv3.FilterChain, r Resources) own {
	of := clusterOf(c)
	out := own{proto.CloneOf(c), proto.CloneOf(r.Clusters[of]), proto.CloneOf(r.Endpoints[of])}
	out.cluster.Name = ""
	dials := sha256.Sum256(packed(out.cluster).GetValue())
	name := listener + "/" + c.GetName() + "/" + hex.EncodeToString(dials[:4])
	out.cluster.Name, out.endpoints.ClusterName = name, name

	last := out.chain.Filters[len(out.chain.Filters)-1]
	p := &tcpproxyv3.TcpProxy{}
	if err := last.GetTypedConfig().UnmarshalTo(p); err != nil {
		panic("envoy: a chain always ends with a TCP proxy: " + err.Error())
	}
	p.StatPrefix, p.ClusterSpecifier = name, &tcpproxyv3.TcpProxy_Cluster{Cluster: name}
	last.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed(p)}
	return out
}
