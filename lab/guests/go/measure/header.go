// The header of a value: the tag of its key, its version, its length and a checksum. With the seed of the plan it
// identifies any value of this run, also a value of an earlier round.

package measure

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// HeaderBytes is the length of a header.
const HeaderBytes = 24

// Header makes and reads the headers of a plan's values.
type Header struct {
	seed uint64
	span uint64
	pool []byte
}

// NewHeader takes the seed in hexadecimal digits; values begin in the first span bytes of the pool.
func NewHeader(seed string, span int, pool []byte) (Header, error) {
	number, err := strconv.ParseUint(seed, 16, 64)
	return Header{number, uint64(span), pool}, err
}

// Of is the header of a value, for a program that composes values itself.
func (h Header) Of(key, version uint32, length int) []byte {
	tag := h.tagOf(key)
	header := make([]byte, 0, HeaderBytes)
	header = binary.LittleEndian.AppendUint64(header, tag)
	header = binary.LittleEndian.AppendUint32(header, version)
	header = binary.LittleEndian.AppendUint32(header, uint32(length))
	return binary.LittleEndian.AppendUint64(header, h.checksum(tag, version, uint32(length)))
}

// Offset is the place in the pool where the value of this key and version begins.
func (h Header) Offset(key, version uint32) int {
	return h.begin(h.tagOf(key), version)
}

func (h Header) tagOf(key uint32) uint64 {
	return mixed(h.seed ^ (uint64(key)<<1 | 1))
}

// readIntact reads the tag and the length of a value of this run, which may be truncated behind its header. It is false
// where the bytes are no such value: a byte differs, or there are more bytes than the header says.
func (h Header) readIntact(value []byte) (tag uint64, length int, ok bool) {
	if len(value) < HeaderBytes {
		return 0, 0, false
	}
	tag = binary.LittleEndian.Uint64(value)
	version := binary.LittleEndian.Uint32(value[8:])
	told := binary.LittleEndian.Uint32(value[12:])
	isHeader := binary.LittleEndian.Uint64(value[16:]) == h.checksum(tag, version, told)
	if !isHeader || uint64(len(value)) > uint64(told) {
		return 0, 0, false
	}
	at := h.begin(tag, version)
	if at+len(value) > len(h.pool) || !bytes.Equal(value[HeaderBytes:], h.pool[at+HeaderBytes:at+len(value)]) {
		return 0, 0, false
	}
	return tag, int(told), true
}

// begins tells whether the values of this key begin with these few bytes.
func (h Header) begins(key uint32, got []byte) bool {
	tag := binary.LittleEndian.AppendUint64(nil, h.tagOf(key))
	length := min(len(got), len(tag))
	return bytes.Equal(got[:length], tag[:length])
}

func (h Header) begin(tag uint64, version uint32) int {
	return int(mixed(tag^uint64(version)) % h.span)
}

func (h Header) checksum(tag uint64, version, length uint32) uint64 {
	return mixed(tag ^ mixed((uint64(version)<<32|uint64(length))^h.seed))
}

// mixed is the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
func mixed(number uint64) uint64 {
	x := number + 0x9e37_79b9_7f4a_7c15
	x = (x ^ (x >> 30)) * 0xbf58_476d_1ce4_e5b9
	x = (x ^ (x >> 27)) * 0x94d0_49bb_1331_11eb
	return x ^ (x >> 31)
}
