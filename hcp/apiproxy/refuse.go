// This file creates the responses of the proxy itself. They have the format of an API server: a Status.

package apiproxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func statusText(code int, reason, message string) []byte {
	text, err := json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Message: message, Reason: metav1.StatusReason(reason), Code: int32(code)})
	if err != nil {
		panic(err) // This cannot happen: the Status has only strings and a number.
	}
	return append(text, '\n')
}

// refuse returns the response to a request that the proxy refuses.
func refuse(r *http.Request, code int, reason, message string) *http.Response {
	text := statusText(code, reason, message)
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header:        http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(text))}},
		ContentLength: int64(len(text)), Body: io.NopCloser(bytes.NewReader(text)),
	}
}

func writeStatus(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(statusText(code, reason, message)) // An error means that the client has gone.
}
