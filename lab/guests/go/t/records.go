// Receives the records of a phase as Larder does.

package t

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The outcomes and the kinds of notes.
const (
	done = iota
	missed
	failed
	filled
	unfilled
	other

	byNumber = 1
	byBytes  = 2
	anError  = 3
)

// note is that of an operation, counted from the beginning of the phase.
type note struct {
	operation, kind, number uint32
	bytes                   string
}

// record is what a process sends in a phase.
type record struct {
	outcomes []byte
	ends     []uint64
	notes    []note
	end      map[string]any
}

// count counts an outcome.
func (r *record) count(outcome byte) int {
	return strings.Count(string(r.outcomes), string(rune(outcome)))
}

// errorKinds counts the errors of each kind.
func (r *record) errorKinds() map[string]int {
	kinds := map[string]int{}
	for _, note := range r.notes {
		if note.kind == anError {
			kind, _, _ := strings.Cut(note.bytes, "\n")
			kinds[kind]++
		}
	}
	return kinds
}

// receive makes the pipes of a plan and begins to receive. Its result waits for the ends of all records, or closes the
// pipes where a phase that has failed sends no ends.
func receive(folder string, processes int) func(haveEnds bool) []*record {
	var records []*record
	var pipes []*os.File
	isOver := make(chan struct{}, processes)
	for process := range processes {
		r := &record{}
		parts, next := pipe(folder, "records", process), pipe(folder, "next", process)
		records, pipes = append(records, r), append(pipes, parts, next)
		go func() {
			for r.end == nil && r.receivePart(parts) == nil {
				next.Write([]byte{'\n'})
			}
			isOver <- struct{}{}
		}()
	}
	return func(haveEnds bool) []*record {
		if haveEnds {
			for range processes {
				<-isOver
			}
		}
		for _, pipe := range pipes {
			pipe.Close()
		}
		return records
	}
}

// pipe makes a named pipe, and opens it for reading and writing, which waits for nobody.
func pipe(folder, name string, process int) *os.File {
	path := filepath.Join(folder, fmt.Sprintf("%s-%d", name, process))
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		panic(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	return file
}

func (r *record) receivePart(from io.Reader) error {
	head := make([]byte, 8)
	if _, err := io.ReadFull(from, head); err != nil {
		return err
	}
	part := make([]byte, binary.LittleEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(from, part); err != nil {
		return err
	}
	if binary.LittleEndian.Uint32(head) == 2 {
		return json.Unmarshal(part, &r.end)
	}
	number := func() uint32 {
		taken := binary.LittleEndian.Uint32(part)
		part = part[4:]
		return taken
	}
	operations, segments, notes, _ := number(), number(), number(), number()
	part = part[16*segments:]
	first := uint32(len(r.outcomes))
	for range operations {
		r.ends = append(r.ends, binary.LittleEndian.Uint64(part))
		part = part[8:]
	}
	r.outcomes = append(r.outcomes, part[:operations]...)
	part = part[operations:]
	for range notes {
		n := note{operation: first + number(), kind: number(), number: number()}
		length := number()
		n.bytes = string(part[:length])
		part = part[length:]
		r.notes = append(r.notes, n)
	}
	return nil
}
