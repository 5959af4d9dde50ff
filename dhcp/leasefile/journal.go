// This file reads and writes the file of leases. Each line is a change of the lease on an address; the last change of an
// address is the current one. After the lines of one flush comes a line with their checksum. A new file is written whole,
// then renamed.

package leasefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/cldmnky/oooi/network"
)

const (
	journalFile = "leases"
	// shortJournal is the size in bytes up to which a journal is never rewritten.
	shortJournal = 1 << 20
)

// A change is the new lease on an address. A zero lease means that the address no longer has one.
type change struct {
	address netip.Addr
	lease   network.Lease
}

// A journal is the open file. It is not safe for concurrent use.
type journal struct {
	dir  string
	file *os.File
	// size is the length of all durable lines in bytes. Field first is the length of the lines that newJournal wrote.
	size, first int64
	// torn: after size there may be lines of a failed write. unnamed: the renaming of the file may not be durable yet.
	torn, unnamed bool
}

// newJournal writes a file with these leases in dir, in place of the existing one. After an error, the former file is
// still there.
func newJournal(dir string, all []network.Lease) (_ journal, err error) {
	t, err := os.Create(filepath.Join(dir, "."+journalFile))
	if err != nil {
		return journal{}, err
	}
	changes := make([]change, len(all))
	for i, l := range all {
		changes[i] = change{l.Address, l}
	}
	j := journal{dir: dir, file: t}
	err = j.write(changes)
	if err == nil {
		err = os.Rename(t.Name(), filepath.Join(dir, journalFile))
	}
	if err != nil {
		return journal{}, errors.Join(err, t.Close(), os.Remove(t.Name()))
	}
	j.first, j.unnamed = j.size, true
	return j, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write appends changes durably. After an error, none of the changes is written.
func (j *journal) write(changes []change) error {
	if j.unnamed {
		if err := syncDir(j.dir); err != nil {
			return err
		}
		j.unnamed = false
	}
	if j.torn {
		if err := j.file.Truncate(j.size); err != nil {
			return err
		}
		j.torn = false
	}
	var lines []byte
	for _, c := range changes {
		lines = append(c.address.AppendTo(lines), ' ')
		if c.lease.Address.IsValid() {
			b, err := json.Marshal(c.lease)
			if err != nil {
				return err
			}
			lines = append(lines, b...)
		}
		lines = append(lines, '\n')
	}
	lines = fmt.Appendf(lines, "%s%08x\n", checksumMark, crc32.ChecksumIEEE(lines))
	_, err := j.file.WriteAt(lines, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if j.torn = err != nil; !j.torn {
		j.size += int64(len(lines))
	}
	return err
}

// long reports whether the journal has grown so much that most of its lines are outdated.
func (j *journal) long() bool { return j.size > shortJournal+2*j.first }

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}

// readJournal returns the changes in the file in dir, in order, and when it was last written. If the file is missing,
// there are no changes. Lines at the end without a valid checksum were never durable. Damage before them is an error:
// without those lines an address could be assigned twice.
func readJournal(dir string) (out []change, written time.Time, err error) {
	name := filepath.Join(dir, journalFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, written, nil
	}
	if err != nil {
		return nil, written, err
	}
	about, err := os.Stat(name)
	if err != nil {
		return nil, written, err
	}
	var batch []change
	number, first, damaged := 0, 1, 0 // numbers of lines: the current one, the first of batch, the first of a damaged batch
	sum, whole := uint32(0), true
	for line := range bytes.Lines(text) {
		number++
		if !bytes.HasPrefix(line, []byte(checksumMark)) {
			c, ok := readChange(line)
			batch, sum, whole = append(batch, c), crc32.Update(sum, crc32.IEEETable, line), whole && ok
			continue
		}
		switch {
		case damaged > 0 && bytes.HasSuffix(line, []byte("\n")):
			return nil, written, fmt.Errorf("%s is damaged from line %d on: restore the file, or remove it if no client has a lease", name, damaged)
		case whole && string(line) == fmt.Sprintf("%s%08x\n", checksumMark, sum):
			out = append(out, batch...)
		default:
			damaged = first // An error, unless this batch is the last one.
		}
		batch, first, sum, whole = nil, number+1, 0, true
	}
	return out, about.ModTime(), nil
}

// checksumMark begins a line with a checksum, in eight hexadecimal digits.
const checksumMark = "= "

// readChange reads the line of a change. False: the line is damaged.
func readChange(line []byte) (c change, ok bool) {
	address, lease, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	a, err := netip.ParseAddr(string(address))
	c.address = a
	if len(lease) > 0 && err == nil {
		err = json.Unmarshal(lease, &c.lease)
	}
	return c, err == nil && (len(lease) == 0 || c.lease.Address == a)
}
