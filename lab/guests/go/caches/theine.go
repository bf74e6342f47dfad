// theine, whose policy is W-TinyLFU. A get sees a set at once; the policy follows in a goroutine.

package caches

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/Yiling-J/theine-go"

	"larder/guests/go/measure"
)

type theineCache struct {
	measure.Plain
	cache     *theine.Cache[string, []byte]
	maxsize   int64
	isPending atomic.Bool
	hasTTLs   atomic.Bool
	evictions atomic.Int64
}

func openTheine(order *measure.Order) (measure.Cache, error) {
	c := &theineCache{maxsize: room(order, "maxsize")}
	listener := func(_ string, _ []byte, reason theine.RemoveReason) {
		if reason == theine.EVICTED {
			c.evictions.Add(1)
		}
	}
	var err error
	c.cache, err = theine.NewBuilder[string, []byte](c.maxsize).RemovalListener(listener).Build()
	return c, err
}

func (*theineCache) Title() string { return titled("theine", "github.com/Yiling-J/theine-go") }

func (c *theineCache) Settings() map[string]string {
	return map[string]string{
		"policy":  "adaptive W-TinyLFU",
		"maxsize": strconv.FormatInt(c.maxsize, 10),
	}
}

func (c *theineCache) Get(key string) ([]byte, error) {
	value, ok := c.cache.Get(key)
	if !ok {
		return nil, nil
	}
	return value, nil
}

func (c *theineCache) Set(key string, value []byte, ttl time.Duration) error {
	// A set without a TTL would leave the TTL from before. So once there was a TTL, no TTL is a very long one.
	if ttl != measure.Forever {
		c.hasTTLs.Store(true)
	} else if c.hasTTLs.Load() {
		ttl = measure.LongestTTL
	}
	// For a cost of 0 the package would ask a function.
	if !c.cache.SetWithTTL(key, value, max(1, cost(key, value)), ttl) {
		return tooLarge()
	}
	if !c.isPending.Load() {
		c.isPending.Store(true)
	}
	return nil
}

// Delete looks for the key first, because the package does not tell whether the key was there.
func (c *theineCache) Delete(key string) (bool, error) {
	_, wasThere := c.cache.Get(key)
	c.cache.Delete(key)
	return wasThere, nil
}

func (c *theineCache) Another() measure.Cache { return c }

// Finish waits until the policy knows of all sets.
func (c *theineCache) Finish() bool {
	if !c.isPending.Swap(false) {
		return false
	}
	c.cache.Wait()
	return true
}

func (c *theineCache) Evictions() (int64, bool) { return c.evictions.Load(), true }

func (c *theineCache) Close() { c.cache.Close() }
