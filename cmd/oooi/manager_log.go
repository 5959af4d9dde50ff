// This file makes the operator's log: one JSON object for each line.

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

func managerLog(w io.Writer) logr.Logger {
	return logr.FromSlogHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: encodable}))
}

// encodable replaces a value that encoding/json cannot encode by text. Libraries log values that contain functions.
func encodable(_ []string, a slog.Attr) slog.Attr {
	v := a.Value.Any()
	if _, isErr := v.(error); a.Value.Kind() != slog.KindAny || isErr {
		return a
	}
	if _, err := json.Marshal(v); err == nil {
		return a
	}
	if s, ok := v.(fmt.Stringer); ok {
		return slog.String(a.Key, s.String())
	}
	return slog.String(a.Key, fmt.Sprintf("%T", v))
}
