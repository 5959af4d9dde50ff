// This file plays both sides of a TLS connection for benches of proxies that pass TLS on. Nothing is encrypted: such a proxy does
// not notice it, and the CPU time of both sides is small.

package programs

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
)

// What one connection carries, in bytes: the ClientHello of Go's client, a flight of a server with a chain of two certificates, the
// client's Finished with a small request, and its response.
const (
	flight, request, response = 3000, 274, 1000
	recordHeader              = 5
)

// HandshakeByte is the first one of a ClientHello: the type of its TLS record.
const HandshakeByte = 0x16

// ClientHello is the first message of Go's TLS client to a server name.
func ClientHello(serverName string) []byte {
	var out recorder
	_ = tls.Client(&out, &tls.Config{ServerName: serverName}).Handshake()
	return out.Bytes()
}

// A recorder is a connection without another side.
type recorder struct {
	net.Conn
	bytes.Buffer
}

func (r *recorder) Read([]byte) (int, error)    { return 0, io.EOF }
func (r *recorder) Write(b []byte) (int, error) { return r.Buffer.Write(b) }
func (r *recorder) Close() error                { return nil }

// Shake is the client's side of a connection that begins with hello.
func Shake(c io.ReadWriter, hello []byte) error {
	for _, step := range []struct {
		write []byte
		read  int64
	}{{hello, flight}, {make([]byte, request), response}} {
		if _, err := c.Write(step.write); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, c, step.read); err != nil {
			return err
		}
	}
	return nil
}

// AnswerShake is the server's side. First is what it has read already, at least the five bytes of a record's header.
func AnswerShake(c io.ReadWriter, first []byte) error {
	rest := recordHeader + int(binary.BigEndian.Uint16(first[3:])) - len(first)
	for _, step := range []struct {
		read  int64
		write int
	}{{int64(rest), flight}, {request, response}} {
		if _, err := io.CopyN(io.Discard, c, step.read); err != nil {
			return err
		}
		if _, err := c.Write(make([]byte, step.write)); err != nil {
			return err
		}
	}
	return nil
}
