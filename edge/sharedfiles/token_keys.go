// This file passes the published keys of the API server from the watcher to the access proxy, which has no token. The file
// outlives the containers, so the last good keys are known without the API server.

package sharedfiles

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/cldmnky/oooi/access"
	"github.com/cldmnky/oooi/edge/signal"
)

const (
	// keysEvery is how often keys are read. The API server publishes a new key long before it signs with that key only.
	keysEvery = time.Minute
	// keysAgain is the pause after a failure.
	keysAgain = 5 * time.Second
)

// KeepTokenKeys stores the result of function get in file while function wanted returns true, until ctx ends. changed returns
// a channel that is closed when the result of wanted may have changed. An answer without a key replaces nothing.
func KeepTokenKeys(ctx context.Context, file string, wanted func() bool, changed func() <-chan struct{}, get func(context.Context) ([]byte, error), log *slog.Logger) {
	stored, failed := "", ""
	for ctx.Err() == nil {
		change, pause := changed(), time.Duration(math.MaxInt64) // While no key is wanted, only a change ends the wait.
		if wanted() {
			err := storeKeys(ctx, file, &stored, get)
			switch {
			case err == nil:
				failed, pause = "", keysEvery
			case ctx.Err() == nil && failed != err.Error():
				failed = err.Error()
				log.Warn("keys of the API server not read, keeping the last known good ones", "err", err)
				fallthrough
			default:
				pause = keysAgain
			}
		}
		signal.Wait(ctx, pause, change)
	}
}

// storeKeys reads the keys once, and stores them if they differ from stored.
func storeKeys(ctx context.Context, file string, stored *string, get func(context.Context) ([]byte, error)) error {
	b, err := get(ctx)
	if err != nil {
		return err
	}
	if _, err := access.ParseKeys(b); err != nil {
		return fmt.Errorf("published keys: %w", err)
	}
	if string(b) == *stored {
		return nil
	}
	if err := Replace(file, b); err != nil {
		return err
	}
	*stored = string(b)
	return nil
}

// TokenKeys are the keys in the file of KeepTokenKeys. It is safe for concurrent use.
type TokenKeys struct {
	file Shared
	keys atomic.Pointer[access.Keys]
}

// NewTokenKeys returns the TokenKeys of file, which need not exist yet.
func NewTokenKeys(file string, log *slog.Logger) *TokenKeys {
	k := &TokenKeys{file: Shared{Name: file, Limit: access.MaxKeysFile, Log: log, Unread: "keys of the API server not read"}}
	k.keys.Store(&access.Keys{})
	k.file.Follow(k.use)
	return k
}

// Current returns the keys that were read last. It returns no keys while the file does not exist.
func (k *TokenKeys) Current() access.Keys { return *k.keys.Load() }

// Run reads the file at each change until ctx ends. A file without keys does not replace the keys.
func (k *TokenKeys) Run(ctx context.Context) { k.file.followUntil(ctx, k.use) }

func (k *TokenKeys) use(b []byte) error {
	keys, err := access.ParseKeys(b)
	if err == nil {
		k.keys.Store(&keys)
	}
	return err
}
