// This file holds the numbers of socket options on Linux, for amd64 and arm64: the program that derives Envoy's
// configuration may run on another system.

package resources

const (
	levelSocket    = 1  // SOL_SOCKET
	keepAlive      = 9  // SO_KEEPALIVE
	sendBuffer     = 7  // SO_SNDBUF
	receiveBuffer  = 8  // SO_RCVBUF
	reusePort      = 15 // SO_REUSEPORT
	bindToDevice   = 25 // SO_BINDTODEVICE
	levelTCP       = 6  // IPPROTO_TCP
	tcpKeepIdle    = 4  // TCP_KEEPIDLE
	tcpKeepEach    = 5  // TCP_KEEPINTVL
	tcpKeepCount   = 6  // TCP_KEEPCNT
	tcpUserTimeout = 18 // TCP_USER_TIMEOUT
)
