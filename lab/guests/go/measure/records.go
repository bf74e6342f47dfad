// The record of a goroutine in a phase: blocks of what came of its operations, and at the end what is known of the
// process. It goes over a pipe to Larder, which counts it. Before the goroutine goes on with its next block, whose clock
// runs, it waits for a byte. Meanwhile it makes that block ready, so that it seldom has to wait.

package measure

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The kinds of parts.
const (
	blockPart uint32 = iota + 1
	endPart
)

const partHeadBytes = 8

type record struct {
	parts *os.File
	next  *os.File
	// part has the bytes of the present part, in the memory of the part before.
	part       []byte
	isCounting bool
}

// openRecord opens the pipes of a process, which Larder holds open too.
func openRecord(folder string, process int) (*record, error) {
	parts, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("records-%d", process)), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	next, err := os.Open(filepath.Join(folder, fmt.Sprintf("next-%d", process)))
	if err != nil {
		parts.Close()
		return nil, err
	}
	return &record{parts: parts, next: next}, nil
}

func (r *record) close() {
	r.parts.Close()
	r.next.Close()
}

// sendBlock sends what came of the first operations of a block.
func (r *record) sendBlock(b *block, count int) {
	r.begin()
	r.add(uint32(count), uint32(len(b.segments)), uint32(len(b.notes)), 0)
	for _, segment := range b.segments {
		r.add(uint32(segment.first), 0)
		r.part = binary.LittleEndian.AppendUint64(r.part, uint64(segment.began))
	}
	for _, end := range b.end[:count] {
		r.part = binary.LittleEndian.AppendUint64(r.part, uint64(end))
	}
	r.part = append(r.part, b.outcome[:count]...)
	for _, note := range b.notes {
		r.add(uint32(note.operation), note.kind, note.number, uint32(len(note.bytes)))
		r.part = append(r.part, note.bytes...)
	}
	r.send(blockPart)
	r.isCounting = true
}

// awaitCount waits until Larder has counted the block that was sent.
func (r *record) awaitCount() {
	if !r.isCounting {
		return
	}
	if _, err := r.next.Read(r.part[:1]); err != nil {
		exit(err)
	}
	r.isCounting = false
}

// sendEnd sends the end of the phase.
func (r *record) sendEnd(end map[string]any) error {
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	r.awaitCount()
	r.begin()
	r.part = append(r.part, text...)
	r.send(endPart)
	return nil
}

func (r *record) begin() {
	r.part = append(r.part[:0], make([]byte, partHeadBytes)...)
}

func (r *record) add(numbers ...uint32) {
	for _, number := range numbers {
		r.part = binary.LittleEndian.AppendUint32(r.part, number)
	}
}

func (r *record) send(kind uint32) {
	binary.LittleEndian.PutUint32(r.part, kind)
	binary.LittleEndian.PutUint32(r.part[4:], uint32(len(r.part)-partHeadBytes))
	if _, err := r.parts.Write(r.part); err != nil {
		exit(err)
	}
}

// exit ends this program: the other end of a pipe is closed, so Larder has ended.
func exit(err error) {
	fmt.Fprintln(os.Stderr, "Larder has ended:", err)
	os.Exit(1)
}
