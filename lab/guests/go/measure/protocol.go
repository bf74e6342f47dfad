// Commands in, answers out. A goroutine of its own reads the commands, so that the program sees the end of the input
// during any work.

package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

const (
	pieceBytes = 65_536
	piecesHeld = 16
)

// Protocol reads commands and writes answers.
type Protocol struct {
	output    io.Writer
	pieces    chan []byte
	piece     []byte
	isRunning atomic.Bool
	hasEnded  atomic.Bool
}

// NewProtocol begins to read commands.
func NewProtocol(input io.Reader, output io.Writer) *Protocol {
	p := &Protocol{output: output, pieces: make(chan []byte, piecesHeld)}
	go p.readAll(input)
	return p
}

// line is the next line without its line feed; false once the input has ended.
func (p *Protocol) line() (string, bool) {
	var line []byte
	for len(p.piece) > 0 || p.more() {
		next := p.piece[0]
		p.piece = p.piece[1:]
		if next == '\n' {
			return string(line), true
		}
		line = append(line, next)
	}
	return "", false
}

// bytes are the bytes that follow a line, in memory of their own.
func (p *Protocol) bytes(length int) ([]byte, error) {
	all := make([]byte, length)
	for have := 0; have < length; {
		if len(p.piece) == 0 && !p.more() {
			return nil, Fail(badUse, fmt.Sprintf("the input ended within %d announced bytes", length))
		}
		count := copy(all[have:], p.piece)
		p.piece = p.piece[count:]
		have += count
	}
	return all, nil
}

// answer writes one answer, and the bytes that belong to it.
func (p *Protocol) answer(answer map[string]any, bytes []byte) error {
	line, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = p.output.Write(append(append(line, '\n'), bytes...))
	return err
}

// running tells whether a phase runs. Meanwhile the end of the input ends this program at once: the program that gave the
// commands is gone.
func (p *Protocol) running(running bool) {
	p.isRunning.Store(running)
	if running && p.hasEnded.Load() {
		os.Exit(0)
	}
}

func (p *Protocol) more() bool {
	piece, ok := <-p.pieces
	p.piece = piece
	return ok
}

func (p *Protocol) readAll(input io.Reader) {
	for {
		piece := make([]byte, pieceBytes)
		count, err := input.Read(piece)
		if count > 0 {
			p.pieces <- piece[:count]
		}
		if err == nil {
			continue
		}
		if err != io.EOF {
			fmt.Fprintln(os.Stderr, "cannot read commands:", err)
			os.Exit(1)
		}
		p.hasEnded.Store(true)
		if p.isRunning.Load() {
			os.Exit(0)
		}
		close(p.pieces)
		return
	}
}
