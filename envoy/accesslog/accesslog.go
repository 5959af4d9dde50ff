// Package accesslog receives Envoy's reports of connections that ended, on a Unix socket. It decides neither
// which connections are reported nor what is done with a report.
package accesslog

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogdata "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc"

	"github.com/cldmnky/oooi/envoy/listen"
	"github.com/cldmnky/oooi/envoy/resources"
)

// The limits of the server of reports. A VM may have taken Envoy over.
const (
	// maxReports in bytes is the longest message: a full buffer, and a last report with a long name.
	maxReports = 4 * resources.ReportBuffer
	// maxStreams is how many streams a connection of Envoy has: one, or two while it connects again.
	maxStreams = 2
	// maxName is the longest server name that is passed on, in bytes: that of DNS.
	maxName = 255
	// noFlags is what Envoy writes for none.
	noFlags = "-"
)

// A Connection is one that ended.
type Connection struct {
	// Source is the VM's address and port, Address those that it dialed.
	Source, Address netip.AddrPort
	// ServerName is what the client sent, at most 255 bytes and three dots. Envoy puts "invalid:" before a
	// name that has other characters than those of host names, and replaces these. Empty: none, or the
	// port is not inspected.
	ServerName string
	// Backend and Upstream are the backend's name and the address that was dialed. Empty if Envoy
	// chose none.
	Backend  string
	Upstream netip.AddrPort
	// Received and Sent are the bytes from and to the client.
	Received, Sent uint64
	Duration       time.Duration
	// Flags are Envoy's response flags, such as "UF,URX", and Detail is its further reason. Empty: it
	// has none.
	Flags, Detail string
}

// Failed reports whether the connection reached no backend, was ended by Envoy, or got no byte of an
// answer before it was reset.
func (c Connection) Failed() bool {
	for flag := range strings.SplitSeq(c.Flags, ",") {
		if flag != "" && (c.Sent == 0 || !slices.Contains(resets(), flag)) {
			return true
		}
	}
	return false
}

// resets are Envoy's response flags for a reset by the VM or by the backend. Programs that exit do so.
func resets() []string { return []string{"DR", "UR"} }

// Serve passes each Connection that is reported on l to ended, until ctx ends. While ended takes too long,
// Envoy drops reports. Ended is called from several goroutines.
func Serve(ctx context.Context, l net.Listener, ended func(Connection)) error {
	return listen.Serve(ctx, l, listen.MaxThreads, func(s *grpc.Server) { accesslogv3.RegisterAccessLogServiceServer(s, reports{ended: ended}) },
		grpc.MaxRecvMsgSize(maxReports), grpc.MaxConcurrentStreams(maxStreams))
}

type reports struct {
	accesslogv3.UnimplementedAccessLogServiceServer
	ended func(Connection)
}

// StreamAccessLogs receives what one thread of Envoy reports.
func (r reports) StreamAccessLogs(stream accesslogv3.AccessLogService_StreamAccessLogsServer) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, e := range m.GetTcpLogs().GetLogEntry() {
			r.ended(connectionOf(e))
		}
	}
}

func connectionOf(e *accesslogdata.TCPAccessLogEntry) Connection {
	c, tags := e.GetCommonProperties(), e.GetCommonProperties().GetCustomTags()
	out := Connection{
		Source: addressOf(c.GetDownstreamRemoteAddress()), Address: addressOf(c.GetDownstreamLocalAddress()),
		ServerName: cut(tags[resources.TagServerName]), Backend: cut(c.GetUpstreamCluster()), Upstream: addressOf(c.GetUpstreamRemoteAddress()),
		Received: e.GetConnectionProperties().GetReceivedBytes(), Sent: e.GetConnectionProperties().GetSentBytes(),
		Duration: c.GetDuration().AsDuration(), Flags: cut(tags[resources.TagFlags]), Detail: cut(c.GetConnectionTerminationDetails()),
	}
	if out.Flags == noFlags {
		out.Flags = ""
	}
	return out
}

// addressOf returns the zero value for an address that is not an IPv4 address. Others can be as long as a message.
func addressOf(a *corev3.Address) netip.AddrPort {
	ip, err := netip.ParseAddr(a.GetSocketAddress().GetAddress())
	if err != nil || !ip.Is4() {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, uint16(a.GetSocketAddress().GetPortValue()))
}

// cut returns s, at most maxName bytes and three dots.
func cut(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "") + "..."
}
