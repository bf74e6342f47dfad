// otter, whose policy is W-TinyLFU. Each entry has its own TTL: the calculator of expiry times reads it from the entry.

package caches

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"

	"larder/guests/go/measure"
)

// timed is a value with its TTL.
type timed struct {
	value []byte
	ttl   time.Duration
}

type otterCache struct {
	measure.Plain
	stats.NoopRecorder
	cache     *otter.Cache[string, timed]
	maximum   uint64
	evictions atomic.Int64
}

func openOtter(order *measure.Order) (measure.Cache, error) {
	c := &otterCache{maximum: uint64(room(order, "maximum_weight"))}
	var err error
	c.cache, err = otter.New(&otter.Options[string, timed]{
		MaximumWeight:    c.maximum,
		Weigher:          func(key string, e timed) uint32 { return uint32(cost(key, e.value)) },
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[string, timed]) time.Duration { return ttlFor(e.Value.ttl) }),
		StatsRecorder:    c,
	})
	return c, err
}

// ttlFor is a TTL, where no TTL is a very long one.
func ttlFor(ttl time.Duration) time.Duration {
	if ttl == measure.Forever {
		return measure.LongestTTL
	}
	return ttl
}

func (*otterCache) Title() string { return titled("otter", "github.com/maypok86/otter/v2") }

func (c *otterCache) Settings() map[string]string {
	return map[string]string{
		"policy":         "adaptive W-TinyLFU",
		"maximum_weight": strconv.FormatUint(c.cache.GetMaximum(), 10),
	}
}

func (c *otterCache) Get(key string) ([]byte, error) {
	found, _ := c.cache.GetIfPresent(key)
	return found.value, nil
}

func (c *otterCache) Set(key string, value []byte, ttl time.Duration) error {
	if uint64(cost(key, value)) > c.maximum {
		return tooLarge()
	}
	c.cache.Set(key, timed{value, ttl})
	return nil
}

func (c *otterCache) Delete(key string) (bool, error) {
	_, wasThere := c.cache.Invalidate(key)
	return wasThere, nil
}

// Touch looks for the key first, because SetExpiresAfter does not tell whether the key was there.
func (c *otterCache) Touch(key string, ttl time.Duration) (bool, error) {
	if _, ok := c.cache.GetEntryQuietly(key); !ok {
		return false, nil
	}
	c.cache.SetExpiresAfter(key, ttlFor(ttl))
	return true, nil
}

func (c *otterCache) Another() measure.Cache { return c }

// Evictions first lets the cache carry out what it has put off.
func (c *otterCache) Evictions() (int64, bool) {
	c.cache.CleanUp()
	return c.evictions.Load(), true
}

// RecordEviction is called by the cache.
func (c *otterCache) RecordEviction(uint32) { c.evictions.Add(1) }

func (c *otterCache) Close() { c.cache.StopAllGoroutines() }
