// Command registry is an OCI registry over TLS for the images that the file of --images lists. It listens only when it has them all, and it
// needs no credentials. It reads programs from the disk at each request, and keeps everything else in memory.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// An image is one image of the --images file, a JSON list. Its programs are the first layer, and its files the last.
type image struct {
	Name     string            `json:"name"`     // host[:port]/repository:tag
	Labels   map[string]string `json:"labels"`   // of its configuration
	Files    map[string][]byte `json:"files"`    // path without leading slash: content (base64 in JSON)
	Programs map[string]string `json:"programs"` // path without leading slash: path on this host
}

func main() {
	listen := flag.String("listen", "127.0.0.1:5000", "address and port")
	cert, key := flag.String("tls-cert-file", "", ""), flag.String("tls-private-key-file", "", "")
	file := flag.String("images", "", "JSON list of the images to serve")
	flag.Parse()
	if err := run(*listen, *cert, *key, *file); err != nil {
		log.Fatal(err)
	}
}

func run(listen, cert, key, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var images []image
	if err := json.Unmarshal(b, &images); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	s := newStore()
	h := registry.New(registry.Logger(log.New(os.Stderr, "", log.LstdFlags)), registry.WithBlobHandler(s))
	for _, i := range images {
		if err := put(h, s, i); err != nil {
			return fmt.Errorf("%s: %w", i.Name, err)
		}
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	return server.ServeTLS(l, cert, key)
}

// put builds i and pushes it to h, without a network between them.
func put(h http.Handler, s store, i image) error {
	tag, err := name.NewTag(i.Name)
	if err != nil {
		return err
	}
	layers, err := s.layers(i)
	if err != nil {
		return err
	}
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return err
	}
	if img, err = mutate.Config(img, v1.Config{Labels: i.Labels}); err != nil {
		return err
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return err
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture = "linux", "amd64"
	if img, err = mutate.ConfigFile(img, cf); err != nil {
		return err
	}
	return remote.Write(tag, img, remote.WithTransport(direct{h}))
}

// layers returns the layers of i. Clients look for a file in the last one first.
func (s store) layers(i image) ([]v1.Layer, error) {
	files, err := crane.Layer(i.Files)
	if err != nil || len(i.Programs) == 0 {
		return []v1.Layer{files}, err
	}
	programs, err := s.add(i.Programs)
	return []v1.Layer{programs, files}, err
}

// A direct is an http.RoundTripper that calls the handler itself.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil { // as a server would have it
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}
