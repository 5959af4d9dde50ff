// This file reads certificates from files, and reads them again when the files change.

package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// A followed is a certificate in files. It is read again when the files change.
type followed struct {
	cert, key string
	log       *slog.Logger
	mu        sync.Mutex
	text      []byte // content of both files at the last attempt to read them
	current   *tls.Certificate
}

func follow(cert, key string, logger *slog.Logger) (*followed, error) {
	f := &followed{cert: cert, key: key, log: logger}
	if err := f.read(); err != nil {
		return nil, err
	}
	return f, nil
}

// read sets current from the files, if they have changed. An error does not change current.
func (f *followed) read() error {
	cert, err := os.ReadFile(f.cert)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return fmt.Errorf("reading the key of the certificate: %w", err)
	}
	both := append(bytes.Clone(cert), key...)
	if bytes.Equal(both, f.text) {
		return nil
	}
	f.text = both
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", f.cert, f.key, err)
	}
	f.current = &pair
	return nil
}

// get returns the certificate in the files. If that is invalid, it logs the error, and returns the last valid one.
func (f *followed) get() *tls.Certificate {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.read(); err != nil {
		f.log.Error("new certificate rejected, keeping the current one", "err", err)
	}
	return f.current
}

func (f *followed) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return f.get(), nil },
	}
}
