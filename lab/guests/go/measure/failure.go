// Failures: an error with a kind that is counted, and a text of one line.

package measure

import (
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// The kinds of failures.
const (
	Full     = "full"
	IO       = "io"
	BadKey   = "key"
	Other    = "other"
	Timeout  = "timeout"
	TooLarge = "too_large"
	badUse   = "protocol"
)

// Failure is an error of a cache, or of this program's caller.
type Failure struct {
	Kind string
	Text string
}

// Fail makes a failure; its text becomes one line of UTF-8.
func Fail(kind, text string) *Failure {
	line := strings.Join(strings.Fields(text), " ")
	return &Failure{kind, strings.ToValidUTF8(line, "\uFFFD")}
}

func (f *Failure) Error() string { return f.Text }

// FailureOf is a failure as it is, and any other error by its first cause that tells a kind.
func FailureOf(err error) *Failure {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure
	}
	return Fail(kindOf(err), err.Error())
}

func kindOf(err error) string {
	var ofNetwork net.Error
	var ofFile *fs.PathError
	var ofSystem syscall.Errno
	switch {
	case errors.As(err, &ofNetwork) && ofNetwork.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.As(err, &ofNetwork), errors.As(err, &ofFile), errors.As(err, &ofSystem), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF):
		return IO
	default:
		return Other
	}
}

// answer is the failure as an answer to a command.
func (f *Failure) answer() map[string]any {
	return map[string]any{"error": f.Text, "kind": f.Kind}
}
