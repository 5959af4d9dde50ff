// Package apiproxy forwards requests and answers between a client and an API server that use different names for some
// groups, kinds and resources. Package apirewrite decides what is renamed. This file has the transport, which the proxy uses
// and clients in the same process use.
package apiproxy

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cldmnky/oooi/hcp/apirewrite"
)

// LargestRequest limits the body of a request, in bytes. API servers have the same limit.
const LargestRequest = 3 << 20

// A Transport renames requests on their way to an API server, and answers on their way back.
type Transport struct {
	Rules *apirewrite.Rules
	// Base sends requests to the API server. Upgrade sends those with the header Upgrade, over HTTP/1.1.
	Base, Upgrade http.RoundTripper
	Server        *url.URL
	// Largest limits each object, list item and event in an answer, in bytes.
	Largest int
	// Bodies limits what the bodies of all requests need. Nil: there is no limit.
	Bodies *Bodies
	// JSON converts an object from protobuf to JSON. Nil: a protobuf object with a name to rename is refused.
	JSON func([]byte) ([]byte, error)
}

// prefix returns the escaped path of the API server's URL, without a slash at its end. Most URLs have no path.
func (t *Transport) prefix() string { return strings.TrimSuffix(t.Server.EscapedPath(), "/") }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(in *http.Request) (*http.Response, error) {
	base := t.Base
	upgrade := in.Header.Get("Upgrade") != ""
	if upgrade {
		base = t.Upgrade
	}
	prefix := t.prefix()
	path, target := t.Rules.Path(strings.TrimPrefix(in.URL.EscapedPath(), prefix))
	if target.API && t.Rules.Hides(target.Object()) {
		closeBody(in)
		return refuse(in, http.StatusNotFound, "NotFound", fmt.Sprintf("%s %q not found", qualified(target), target.Name)), nil
	}
	out := in.Clone(in.Context())
	if err := setPath(out.URL, prefix+path); err != nil {
		closeBody(in)
		return refuse(in, http.StatusBadRequest, "BadRequest", err.Error()), nil
	}
	if target.Opaque() {
		return base.RoundTrip(out)
	}
	query, watch := t.Rules.Query(in.URL.RawQuery, target)
	out.URL.RawQuery, target.Watch = query, (target.Watch || watch && target.Name == "") && in.Method == http.MethodGet
	if values := in.Header.Values("Accept"); len(values) > 0 { // Add none: a kubelet refuses exec with a type that it does not know.
		out.Header.Set("Accept", accept(values))
	}
	out.Header.Del("Accept-Encoding")
	out.Header.Del("If-None-Match") // The ETag is that of the answer before renaming, and does not change with the rules.
	l := t.Bodies.lease(in)
	defer l.release()
	if refused := t.body(out, target, l); refused != nil {
		return refused, nil
	}
	answer, err := base.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	return t.answer(answer, in, target), nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

func qualified(t apirewrite.Target) string {
	if t.Group == "" {
		return t.Resource
	}
	return t.Resource + "." + t.Group
}

// setPath sets the path of u to an escaped path, and does not change which characters of it are escaped.
func setPath(u *url.URL, escaped string) error {
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return fmt.Errorf("path %q: %w", escaped, err)
	}
	u.Path, u.RawPath = path, escaped
	return nil
}

// accept returns the value of the header Accept without formats that cannot be renamed, so that an API server answers in
// JSON.
func accept(values []string) string {
	var kept []string
	for one := range strings.SplitSeq(strings.Join(values, ","), ",") {
		one = strings.TrimSpace(one)
		if one != "" && !slices.ContainsFunc([]string{"protobuf", "cbor", "yaml"}, func(f string) bool { return strings.Contains(one, f) }) {
			kept = append(kept, one)
		}
	}
	if len(kept) == 0 {
		return "application/json"
	}
	return strings.Join(kept, ",")
}

func mayHaveNames(contentType string) bool {
	return contentType == "" || slices.ContainsFunc([]string{"json", "yaml", "protobuf", "cbor"}, func(f string) bool { return strings.Contains(contentType, f) })
}

// beginsAsObject reports whether the body of r, which has no Content-Type, begins as JSON or cannot be read. Unless r is
// an upload, an API server reads a body without Content-Type as JSON.
func beginsAsObject(r *http.Request) bool {
	buffered := bufio.NewReader(r.Body)
	r.Body = body{buffered, r.Body}
	first, err := buffered.Peek(1)
	return err != nil || strings.Contains("{[ \t\r\n", string(first))
}

// body renames the body of r. If that fails, it returns the response to r, else nil.
func (t *Transport) body(r *http.Request, target apirewrite.Target, l *lease) *http.Response {
	contentType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Body == nil || r.Body == http.NoBody || !mayHaveNames(contentType) {
		return nil
	}
	done := l.deadline(controllerOf(r))
	if contentType == "" && !beginsAsObject(r) {
		done()
		return nil
	}
	limit := min(t.Largest, LargestRequest)
	body, err := io.ReadAll(io.LimitReader(l.reader(r.Body), int64(limit)+1))
	closeBody(r)
	if err != nil {
		return unread(r, err)
	}
	done()
	if len(body) > limit {
		return refuse(r, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", fmt.Sprintf("the body has more than %d bytes", limit))
	}
	renamed, contentType, refused := t.renamed(r, contentType, body, target, l)
	if refused != nil {
		return refused
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(renamed)), int64(len(renamed)), nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(renamed)), nil }
	if r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(renamed)))
	}
	return nil
}

// renamed returns body with the server's names, and its new Content-Type. Empty: the type has not changed. If body cannot be
// renamed, it returns the response to r.
func (t *Transport) renamed(r *http.Request, contentType string, body []byte, target apirewrite.Target, l *lease) ([]byte, string, *http.Response) {
	binary, newType := strings.Contains(contentType, "protobuf") || strings.Contains(contentType, "cbor"), ""
	if binary && !t.Rules.HasWord(body) {
		return body, "", nil
	}
	cost := len(body)
	switch {
	case strings.Contains(contentType, "yaml"):
		cost *= yamlCost
	case binary:
		cost *= protobufCost
	}
	done, err := l.parsing(cost)
	if err != nil {
		return nil, "", unread(r, err)
	}
	defer done()
	if binary {
		if t.JSON == nil || strings.Contains(contentType, "cbor") {
			return nil, "", refuse(r, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "names in a body of type "+contentType+" cannot be renamed: send JSON")
		}
		if body, err = t.JSON(body); err != nil {
			return nil, "", refuse(r, http.StatusUnsupportedMediaType, "UnsupportedMediaType", err.Error()+": send JSON")
		}
		contentType, newType = "application/json", "application/json"
	}
	renamed, err := t.Rules.Body(contentType, body, target, apirewrite.ToServer)
	if err != nil {
		return nil, "", refuse(r, http.StatusBadRequest, "BadRequest", err.Error())
	}
	if contentType == apirewrite.YAML && !bytes.Equal(renamed, body) {
		newType = "application/json"
	}
	return renamed, newType, nil
}

// answer returns response a with a body that is renamed while it is read. Parameter in is the request. If a is not
// JSON, only its warnings are renamed. If a cannot be renamed, answer returns another response.
func (t *Transport) answer(a *http.Response, in *http.Request, target apirewrite.Target) *http.Response {
	for i, w := range a.Header["Warning"] {
		a.Header["Warning"][i] = t.Rules.Message(w)
	}
	contentType, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if contentType != "application/json" || in.Method == http.MethodHead || a.StatusCode == http.StatusSwitchingProtocols || a.ContentLength == 0 {
		return a
	}
	source := io.Reader(a.Body)
	switch encoding := a.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		unpacked, err := gzip.NewReader(a.Body)
		if err != nil {
			_ = a.Body.Close()
			return refuse(in, http.StatusBadGateway, "InternalError", "the API server's answer is not valid gzip: "+err.Error())
		}
		source = unpacked
	default:
		_ = a.Body.Close()
		return refuse(in, http.StatusBadGateway, "InternalError", "the API server's answer has the unknown encoding "+strconv.Quote(encoding))
	}
	target.Watch = target.Watch && a.StatusCode == http.StatusOK
	renamed := t.Rules.Answer(source, target, t.Largest)
	limits, release := t.Bodies.answer(in)
	renamed.Limit(limits)
	a.Body = &heldBody{Reader: renamed, Closer: a.Body, release: release}
	if !target.Watch {
		if err := renamed.Prime(); err != nil && !errors.Is(err, io.EOF) {
			_ = a.Body.Close()
			if errors.Is(err, errBusy) {
				return unread(in, err)
			}
			if errors.Is(err, apirewrite.ErrTooLarge) {
				return refuse(in, http.StatusInternalServerError, "InternalError", "the answer cannot be renamed: "+err.Error())
			}
			return refuse(in, http.StatusBadGateway, "InternalError", "reading the API server's answer: "+err.Error())
		}
	}
	a.Header.Del("Content-Encoding")
	a.Header.Del("Etag")
	a.Header.Del("Content-Length")
	a.ContentLength, a.Uncompressed = -1, true
	return a
}

// A heldBody is the body of a renamed answer. Close releases its lease.
type heldBody struct {
	io.Reader
	io.Closer
	release func()
}

// Close implements io.Closer.
func (b *heldBody) Close() error {
	b.release()
	return b.Closer.Close()
}

type body struct {
	io.Reader
	io.Closer
}
