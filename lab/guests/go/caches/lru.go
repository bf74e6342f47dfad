// HashiCorp's golang-lru: its exact LRU, `simplelru`, behind one mutex, as its own `Cache` has it. The package counts
// entries. Here the bytes of keys and values are the capacity, so the mutex also guards their number. While there are too
// many bytes, the least recently used entry is removed.

package caches

import (
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"larder/guests/go/measure"
)

type exactLRU struct {
	measure.Plain
	size      int64
	lock      sync.Mutex
	entries   *simplelru.LRU[string, []byte]
	bytes     int64
	evictions int64
}

func openLRU(order *measure.Order) (measure.Cache, error) {
	entries, err := simplelru.NewLRU[string, []byte](math.MaxInt, nil)
	return &exactLRU{size: room(order, "size"), entries: entries}, err
}

func (*exactLRU) Title() string { return titled("golang-lru", "github.com/hashicorp/golang-lru/v2") }

func (c *exactLRU) Settings() map[string]string {
	return map[string]string{"policy": "exact LRU", "size": strconv.FormatInt(c.size, 10)}
}

func (c *exactLRU) Get(key string) ([]byte, error) {
	c.lock.Lock()
	value, _ := c.entries.Get(key)
	c.lock.Unlock()
	return value, nil
}

func (c *exactLRU) Set(key string, value []byte, _ time.Duration) error {
	bytes := cost(key, value)
	if bytes > c.size {
		return tooLarge()
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	if before, ok := c.entries.Peek(key); ok {
		c.bytes -= cost(key, before)
	}
	c.entries.Add(key, value)
	c.bytes += bytes
	for c.bytes > c.size {
		oldest, dropped, _ := c.entries.RemoveOldest()
		c.bytes -= cost(oldest, dropped)
		c.evictions++
	}
	return nil
}

func (c *exactLRU) Delete(key string) (bool, error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if before, ok := c.entries.Peek(key); ok {
		c.bytes -= cost(key, before)
	}
	return c.entries.Remove(key), nil
}

func (c *exactLRU) Another() measure.Cache { return c }

func (c *exactLRU) Evictions() (int64, bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.evictions, true
}
