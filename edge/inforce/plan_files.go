// This file decides which file has the newer plan: the mounted ConfigMap, or the watcher's copy for the
// containers without access to the API server.

package inforce

import (
	"log/slog"
	"os"
	"time"

	"github.com/cldmnky/oooi/edge/sharedfiles"
)

// watcherPatience is how long the watcher must be away before a newer mounted plan is used. The
// kubelet updates a mounted ConfigMap about a minute after a change.
const watcherPatience = time.Minute

// maxPlan is the limit of a ConfigMap, in bytes.
const maxPlan = 1 << 20

// A mountedFile is a mounted ConfigMap. The kubelet writes it, so links in it are followed.
type mountedFile struct {
	name, text string
	last       os.FileInfo
}

// read updates the text if the file has changed.
func (f *mountedFile) read() error {
	info, err := os.Stat(f.name)
	if err != nil || sharedfiles.Same(f.last, info) {
		return err
	}
	b, err := os.ReadFile(f.name)
	if err == nil {
		f.text, f.last = string(b), info
	}
	return err
}

// planFiles are the files that hold the plan.
type planFiles struct {
	mounted mountedFile
	// copy is the file of the watcher, if it has a name. published: this container writes it.
	copy      sharedfiles.Shared
	published bool
	// away reports whether the watcher, another container, has stopped. gone is since when the watcher
	// has been away while the mounted plan is newer. Zero: the watcher runs, or the mounted plan is not
	// newer.
	away func() bool
	gone time.Time
}

func (f *planFiles) publish(file string, log *slog.Logger) {
	f.copy, f.published = newPlanCopy(file, log), true
}

func (f *planFiles) follow(file string, away func() bool, log *slog.Logger) {
	f.copy, f.away = newPlanCopy(file, log), away
	if _ = f.copyChanged(); f.mountedIsNewer() && away() {
		return // The plan that is in the copy now is never used.
	}
	f.copy.Forget()
}

func newPlanCopy(file string, log *slog.Logger) sharedfiles.Shared {
	return sharedfiles.Shared{Name: file, Limit: maxPlan, Log: log, Unread: "plan of the watcher not read"}
}

// copyChanged returns the copy if it has changed, else the empty string.
func (f *planFiles) copyChanged() (text string) {
	f.copy.Follow(func(b []byte) error { text = string(b); return nil })
	return text
}

// mountedIsNewer reports whether the mounted file, as read last, changed after the copy.
func (f *planFiles) mountedIsNewer() bool {
	return f.mounted.last.ModTime().After(f.copy.ModTime())
}

// poll calls use with each plan that may be newer than the one in force.
func (f *planFiles) poll(inForce func() string, use func(plan string)) {
	text := f.copyChanged()
	_ = f.mounted.read() // If this fails, the previous text stays.
	if f.away == nil || f.copy.ModTime().IsZero() {
		if f.mountedIsNewer() {
			text = f.mounted.text
		}
	}
	if text != "" {
		use(text)
	}
	if f.overtaken(inForce()) {
		use(f.mounted.text)
	}
}

// overtaken reports whether the mounted plan is newer than the copy of a watcher that has stopped.
func (f *planFiles) overtaken(inForce string) bool {
	if f.away == nil || !f.mountedIsNewer() || f.mounted.text == inForce || !f.away() {
		f.gone = time.Time{}
		return false
	}
	if f.gone.IsZero() {
		f.gone = time.Now()
	}
	return time.Since(f.gone) >= watcherPatience
}
