// Dgraph's ristretto. Its sets go through a buffer to a goroutine, whose policy may refuse a new entry. Until then, a get
// misses a new key. A full buffer drops the set, as Set tells. Such a set waits here until the buffer is empty, or is a
// failure where the URL says so.

package caches

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"larder/guests/go/measure"
)

const (
	// countersPerEntry is the package's advice.
	countersPerEntry = 10
	// smallEntry is the length of the entries for which counters are made, unless the URL tells a number.
	smallEntry = 256
	// bufferItems is the package's advice.
	bufferItems = 64
)

type ristrettoCache struct {
	measure.Plain
	cache     *ristretto.Cache[string, []byte]
	settings  map[string]string
	maxCost   int64
	waits     bool
	drops     bool
	isPending atomic.Bool
	evictions atomic.Int64
}

func openRistretto(order *measure.Order) (measure.Cache, error) {
	c := &ristrettoCache{
		maxCost: room(order, "max_cost"),
		waits:   order.Switch("wait"),
		drops:   order.Switch("drops"),
	}
	dropped := func(*ristretto.Item[[]byte]) { c.evictions.Add(1) }
	config := &ristretto.Config[string, []byte]{
		MaxCost:            c.maxCost,
		NumCounters:        order.Number("num_counters", max(1000, countersPerEntry*c.maxCost/smallEntry)),
		BufferItems:        bufferItems,
		IgnoreInternalCost: !order.Switch("internal_cost"),
		OnEvict:            dropped,
		OnReject:           dropped,
	}
	c.settings = map[string]string{
		"policy":        "TinyLFU admission and sampled LFU eviction",
		"max_cost":      strconv.FormatInt(config.MaxCost, 10),
		"num_counters":  strconv.FormatInt(config.NumCounters, 10),
		"internal_cost": strconv.FormatBool(!config.IgnoreInternalCost),
		"wait":          strconv.FormatBool(c.waits),
		"drops":         strconv.FormatBool(c.drops),
	}
	var err error
	c.cache, err = ristretto.NewCache(config)
	return c, err
}

func (*ristrettoCache) Title() string {
	return titled("ristretto", "github.com/dgraph-io/ristretto/v2")
}

func (c *ristrettoCache) Settings() map[string]string { return c.settings }

func (c *ristrettoCache) Get(key string) ([]byte, error) {
	value, _ := c.cache.Get(key)
	return value, nil
}

func (c *ristrettoCache) Set(key string, value []byte, ttl time.Duration) error {
	bytes := cost(key, value)
	if bytes > c.maxCost {
		return tooLarge()
	}
	for !c.cache.SetWithTTL(key, value, bytes, ttl) {
		if !c.drops {
			c.cache.Wait()
			continue
		}
		return measure.Fail(measure.Full, "the buffer of sets is full, so ristretto dropped the set")
	}
	if c.waits {
		c.cache.Wait()
	} else if !c.isPending.Load() {
		c.isPending.Store(true)
	}
	return nil
}

// Delete looks for the key first, because Del does not tell whether the key was there.
func (c *ristrettoCache) Delete(key string) (bool, error) {
	_, wasThere := c.cache.Get(key)
	c.cache.Del(key)
	return wasThere, nil
}

func (c *ristrettoCache) Another() measure.Cache { return c }

// Finish waits until the buffered sets have been decided on.
func (c *ristrettoCache) Finish() bool {
	if !c.isPending.Swap(false) {
		return false
	}
	c.cache.Wait()
	return true
}

// Evictions also are the new entries that the policy refused.
func (c *ristrettoCache) Evictions() (int64, bool) { return c.evictions.Load(), true }

func (c *ristrettoCache) Close() { c.cache.Close() }
