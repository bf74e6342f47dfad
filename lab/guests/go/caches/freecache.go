// freecache: entries in 256 rings of bytes, which the garbage collector does not look into. It copies keys and values.

package caches

import (
	"errors"
	"strconv"
	"time"
	"unsafe"

	"github.com/coocood/freecache"

	"larder/guests/go/measure"
)

const (
	// segments and leastSize are the package's own.
	segments  = 256
	leastSize = 512 << 10
	// An entry takes at most this part of its ring.
	partOfRing = 4
)

type freeCache struct {
	measure.Plain
	cache *freecache.Cache
	size  int64
}

func openFreecache(order *measure.Order) (measure.Cache, error) {
	size := max(leastSize, room(order, "size"))
	return &freeCache{cache: freecache.NewCache(int(size)), size: size}, nil
}

func (*freeCache) Title() string { return titled("freecache", "github.com/coocood/freecache") }

func (c *freeCache) Settings() map[string]string {
	return map[string]string{
		"policy":        "nearly LRU: the oldest of a ring unless it was read lately",
		"size":          strconv.FormatInt(c.size, 10),
		"longest_entry": strconv.FormatInt(c.size/segments/partOfRing-freecache.ENTRY_HDR_SIZE, 10),
	}
}

// bytesOf is a view of a key, which the package only copies.
func bytesOf(key string) []byte {
	return unsafe.Slice(unsafe.StringData(key), len(key))
}

func (c *freeCache) Get(key string) ([]byte, error) {
	value, err := c.cache.Get(bytesOf(key))
	if errors.Is(err, freecache.ErrNotFound) {
		return nil, nil
	}
	return notNil(value), err
}

// notNil is a value that was found; the package has nil for a value without bytes.
func notNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

func (c *freeCache) Set(key string, value []byte, ttl time.Duration) error {
	err := c.cache.Set(bytesOf(key), value, secondsOf(ttl))
	if errors.Is(err, freecache.ErrLargeEntry) || errors.Is(err, freecache.ErrLargeKey) {
		return tooLarge()
	}
	return err
}

// secondsOf is a TTL for a clock of whole seconds. The present second counts as a whole one there, so a TTL would end up
// to a second too early.
func secondsOf(ttl time.Duration) int {
	if ttl == measure.Forever {
		return 0
	}
	return int(measure.WholeSeconds(ttl)) + 1
}

func (c *freeCache) Delete(key string) (bool, error) { return c.cache.Del(bytesOf(key)), nil }

func (c *freeCache) Touch(key string, ttl time.Duration) (bool, error) {
	err := c.cache.Touch(bytesOf(key), secondsOf(ttl))
	if errors.Is(err, freecache.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (c *freeCache) GetMany(keys []string, found [][]byte) error {
	asked := make([][]byte, len(keys))
	for n, key := range keys {
		asked[n] = bytesOf(key)
	}
	values, errs := c.cache.MultiGet(asked)
	for n, err := range errs {
		if err == nil {
			found[n] = notNil(values[n])
		} else if !errors.Is(err, freecache.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (c *freeCache) Another() measure.Cache { return c }

func (*freeCache) Keeps() bool { return false }
