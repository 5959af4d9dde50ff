package dial_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/client-go/rest"

	"github.com/cldmnky/oooi/access/dial"
)

// A client of HTTP, of Kubernetes or of gRPC takes DialContext.
func Example() {
	d := dial.Dialer{
		Proxy: "oooi-access.clusters-blue.svc:3128",
		// A projected token for the audience oooi-access.clusters-blue, if the hosted cluster names accounts.
		TokenFile: "/var/run/secrets/oooi/token",
	}
	client := http.Client{Transport: &http.Transport{DialContext: d.DialContext}}
	config := rest.Config{Host: "https://console.apps.blue.example.com", Dial: d.DialContext}
	conn, err := grpc.NewClient("passthrough:///worker-1:50051", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return d.DialContext(ctx, "tcp", address) }))
	fmt.Println(client.Transport != nil, config.Dial != nil, conn != nil, err)
	// Output: true true true <nil>
}

// The host of a URL is what the proxy looks up.
func ExampleDialer_DialContext() {
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "ok from "+r.Host) }))
	defer node.Close()
	proxy := httptest.NewServer(connecting(node.Listener.Addr().String()))
	defer proxy.Close()

	d := dial.Dialer{Proxy: proxy.Listener.Addr().String()}
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DialContext: d.DialContext}}
	resp, err := client.Get("http://worker-1:9100/metrics")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	b, _ := io.ReadAll(resp.Body)
	fmt.Println(string(b))
	// Output: ok from worker-1:9100
}

// connecting is a proxy that forwards to one address.
func connecting(to string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		up, err := net.Dial("tcp", to)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer func() { _ = up.Close() }()
		down, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = down.Close() }()
		_, _ = io.WriteString(down, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() { _, _ = io.Copy(up, down) }()
		_, _ = io.Copy(down, up)
	})
}
