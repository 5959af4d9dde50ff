// Package accesslog receives Envoy's reports of connections that ended or began, on a Unix socket.
package accesslog

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	accesslogdata "github.com/envoyproxy/go-control-plane/envoy/data/accesslog/v3"
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/service/accesslog/v3"
	"google.golang.org/grpc"

	"github.com/cldmnky/oooi/envoy/listen"
	"github.com/cldmnky/oooi/envoy/resources"
)

// The limits of the server of reports. A VM may have compromised Envoy.
const (
	// maxReports is the longest message in bytes: a full buffer, and one more report with a long name.
	maxReports = 4 * resources.ReportBuffer
	// maxStreams is how many streams a connection of Envoy has: one, or two while it reconnects.
	maxStreams = 2
	// maxName is the longest server name that is passed to the caller, in bytes: the longest DNS name.
	maxName = 255
	// noFlags is what Envoy writes for a connection without response flags.
	noFlags = "-"
	// reset and backendReset are the flags for a reset by the VM and by the backend, as of a program that exits.
	reset, backendReset = "DR", "UR"
)

// A Connection describes a connection that ended, or that began.
type Connection struct {
	// Began: the connection has just reached its backend. Received, Sent, Duration and Flags have no meaning.
	Began bool
	// Source is the VM's address and port, Address the address and port that the VM dialed.
	Source, Address netip.AddrPort
	// ServerName is what the client sent, at most 255 bytes and three dots. Envoy replaces characters that host names do
	// not have, and puts "invalid:" before the name. Empty: none, or the port is not inspected.
	ServerName string
	// Backend is the backend's name, and Upstream the address that Envoy dialed. Empty: Envoy chose no backend.
	Backend  string
	Upstream netip.AddrPort
	// Received and Sent are the bytes from and to the client.
	Received, Sent uint64
	Duration       time.Duration
	// Flags are Envoy's response flags, such as "UF,URX", and Detail is a further reason. Either may be empty.
	Flags, Detail string
}

// Failed reports whether the connection reached no backend, was ended by Envoy, or was reset before an answer.
func (c Connection) Failed() bool {
	for flag := range strings.SplitSeq(c.Flags, ",") {
		if flag != "" && (c.Sent == 0 || flag != reset && flag != backendReset) {
			return true
		}
	}
	return false
}

// Serve calls use for each Connection that Envoy reports on l, concurrently, until ctx ends. If use is too slow,
// Envoy drops reports.
func Serve(ctx context.Context, l net.Listener, use func(Connection)) error {
	return listen.Serve(ctx, l, listen.MaxThreads, func(s *grpc.Server) { accesslogv3.RegisterAccessLogServiceServer(s, reports{use: use}) },
		grpc.MaxRecvMsgSize(maxReports), grpc.MaxConcurrentStreams(maxStreams))
}

type reports struct {
	accesslogv3.UnimplementedAccessLogServiceServer
	use func(Connection)
}

// StreamAccessLogs receives what one thread of Envoy reports.
func (r reports) StreamAccessLogs(stream accesslogv3.AccessLogService_StreamAccessLogsServer) error {
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, e := range m.GetTcpLogs().GetLogEntry() {
			r.use(connectionOf(e))
		}
	}
}

func connectionOf(e *accesslogdata.TCPAccessLogEntry) Connection {
	c, tags := e.GetCommonProperties(), e.GetCommonProperties().GetCustomTags()
	out := Connection{
		Began:  c.GetAccessLogType() == accesslogdata.AccessLogType_TcpUpstreamConnected,
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

// addressOf returns the address and port of a. If the address is not IPv4, it returns the zero value: such a text can be
// as long as a message.
func addressOf(a *corev3.Address) netip.AddrPort {
	ip, err := netip.ParseAddr(a.GetSocketAddress().GetAddress())
	if err != nil || !ip.Is4() {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(ip, uint16(a.GetSocketAddress().GetPortValue()))
}

// cut returns s. If s is longer than maxName bytes, it returns the first maxName bytes and three dots.
func cut(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName], "") + "..."
}
