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

// memoryFile is the memory's name in Options.Dir, which lasts as long as the pod.
const memoryFile = "failover.json"

// A memory outlives a container, but not its pod.
type memory struct {
	// Generation is when the pod's first failover agent started, in milliseconds of Unix time.
	Generation int64 `json:"generation"`
	// PeerAddress is the peer's last known address on the cluster network. Zero: none yet.
	PeerAddress netip.Addr `json:"peerAddress,omitzero"`
}

// recall returns the memory in dir. If there is none, or dir is empty, it returns one that begins
// at now. The error is why an existing memory is not used.
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
