// The two small servers that others' health depends on: virt-api's version and etcd's readiness. They answer what was asked for and
// decide nothing.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"time"
)

// virtAPI serves as much of KubeVirt's aggregated API as HyperShift's operator asks for before it accepts a cluster: its version.
func virtAPI(args []string) error {
	f := flag.NewFlagSet("virt-api", flag.ContinueOnError)
	listen := f.String("listen", ":8443", "address and port")
	version := f.String("version", "v1.6.0", "the version of KubeVirt to claim")
	if err := f.Parse(args); err != nil {
		return err
	}
	mux := http.NewServeMux()
	serve := func(path string, answer func(group string) any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer(r.PathValue("group")))
		})
	}
	serve("/apis", func(string) any { return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": []any{}} })
	serve("/apis/{group}/v1", func(group string) any { // some platforms have another one than subresources.kubevirt.io
		return map[string]any{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group + "/v1",
			"resources": []any{map[string]any{"name": "version", "singularName": "", "kind": "", "namespaced": false, "verbs": []string{"get"}}},
		}
	})
	serve("/apis/{group}/v1/version", func(string) any {
		return map[string]string{
			"gitVersion": *version, "gitTreeState": "clean", "gitCommit": "none", "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none",
			"compiler": "gc", "platform": "linux/amd64",
		}
	})
	cert, err := ownCertificate()
	if err != nil {
		return err
	}
	s := &http.Server{Addr: *listen, Handler: mux, TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}, ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServeTLS("", "")
}

// ownCertificate is a certificate that nobody is asked to trust: the APIService skips verification.
func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "virt-api"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// etcdReadyz is `cluster-etcd-operator readyz`: an HTTPS health check in front of etcd's own, which wants a client certificate.
func etcdReadyz(args []string) error {
	if len(args) == 0 || args[0] != "readyz" {
		return fmt.Errorf("only readyz is played")
	}
	f := flag.NewFlagSet("readyz", flag.ContinueOnError)
	target := f.String("target", "https://localhost:2379", "etcd's client URL")
	port := f.Int("listen-port", 9980, "port to serve on")
	cert, key := f.String("serving-cert-file", "", ""), f.String("serving-key-file", "", "")
	clientCert, clientKey := f.String("client-cert-file", "", ""), f.String("client-key-file", "", "")
	ca := f.String("client-cacert-file", "", "")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(*clientCert, *clientKey)
	if err != nil {
		return err
	}
	pem, err := os.ReadFile(*ca)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots},
	}}
	mux := http.NewServeMux()
	for _, path := range []string{"/healthz", "/readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { relay(w, client, *target+"/health") })
	}
	s := &http.Server{Addr: fmt.Sprintf(":%d", *port), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServeTLS(*cert, *key)
}

func relay(w http.ResponseWriter, c *http.Client, url string) {
	resp, err := c.Get(url)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer resp.Body.Close()
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body)
}
