// This file stores what outlives the container of the failover agent, but not its pod.

package failover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/cldmnky/oooi/edge/sharedfiles"
)

// memoryFile is the file of the memory in Options.Dir, which lasts as long as the pod.
const memoryFile = "failover.json"

// A memory is the state that survives a restart of the container.
type memory struct {
	// Generation is when the pod's first failover agent started, in milliseconds of Unix time.
	Generation int64 `json:"generation"`
	// PeerAddress is the peer's last known address on the cluster network. Zero: none yet.
	PeerAddress netip.Addr `json:"peerAddress,omitzero"`
}

// recall returns the memory in dir. If dir is empty or has no memory, it returns a new one with now as its Generation. It
// also does so if it cannot read the memory, and then returns an error, too.
func recall(dir string, now time.Time) (memory, error) {
	first := memory{Generation: now.UnixMilli()}
	if dir == "" {
		return first, nil
	}
	b, err := os.ReadFile(filepath.Join(dir, memoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return first, nil
	}
	var m memory
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err == nil && m.Generation <= 0 {
		err = errors.New("generation is missing")
	}
	if err != nil {
		return first, fmt.Errorf("remembered generation: %w", err)
	}
	return m, nil
}

// store replaces the memory in dir.
func (m memory) store(dir string) error {
	if dir == "" {
		return nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return sharedfiles.Replace(filepath.Join(dir, memoryFile), b)
}
