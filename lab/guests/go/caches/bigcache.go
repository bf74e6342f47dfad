// bigcache: entries in a queue of bytes for each shard, which the garbage collector does not look into. A full shard drops
// its oldest entry. The package has one life time for all entries, and none for one entry.

package caches

import (
	"context"
	"errors"
	"io"
	"log"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/allegro/bigcache/v3"

	"larder/guests/go/measure"
)

const (
	mebibyte   = 1 << 20
	mostShards = 1024
	// largestInShard is the number of the largest entries that a shard should hold, unless the URL tells the shards.
	largestInShard = 16
	// aroundEntry is the most bytes that the package adds to an entry.
	aroundEntry = 32
)

type bigCache struct {
	measure.Plain
	cache     *bigcache.BigCache
	settings  map[string]string
	evictions atomic.Int64
}

func openBigcache(order *measure.Order) (measure.Cache, error) {
	c := &bigCache{}
	// The package has whole mebibytes.
	size := (room(order, "hard_max_cache_size") + mebibyte - 1) / mebibyte
	shards := order.Number("shards", shardsFor(size*mebibyte, order.LargestBytes))
	life := order.Span("life_window", measure.LongestTTL)
	config := bigcache.Config{
		Shards:           int(shards),
		LifeWindow:       life,
		MaxEntrySize:     int(max(order.LargestBytes, 1)),
		HardMaxCacheSize: int(size),
		Logger:           log.New(io.Discard, "", 0),
		OnRemoveWithReason: func(string, []byte, bigcache.RemoveReason) {
			c.evictions.Add(1)
		},
	}
	if life != measure.LongestTTL {
		config.CleanWindow = time.Second
	}
	config = config.OnRemoveFilterSet(bigcache.NoSpace)
	c.settings = map[string]string{
		"policy":              "FIFO: the oldest write of a shard",
		"hard_max_cache_size": strconv.FormatInt(size*mebibyte, 10),
		"shards":              strconv.FormatInt(shards, 10),
		"longest_entry":       strconv.FormatInt(size*mebibyte/shards-aroundEntry, 10),
		"life_window":         "for ever",
	}
	if life != measure.LongestTTL {
		c.settings["life_window"] = life.String()
	}
	var err error
	c.cache, err = bigcache.New(context.Background(), config)
	return c, err
}

// shardsFor is a number of shards, each of which holds several of the largest entries.
func shardsFor(size, largest int64) int64 {
	shards := int64(mostShards)
	for shards > 1 && size/shards < largestInShard*(largest+aroundEntry) {
		shards /= 2
	}
	return shards
}

func (*bigCache) Title() string { return titled("bigcache", "github.com/allegro/bigcache/v3") }

func (c *bigCache) Settings() map[string]string { return c.settings }

func (c *bigCache) Get(key string) ([]byte, error) {
	value, err := c.cache.Get(key)
	if errors.Is(err, bigcache.ErrEntryNotFound) {
		return nil, nil
	}
	return value, err
}

func (c *bigCache) Set(key string, value []byte, _ time.Duration) error {
	if err := c.cache.Set(key, value); err != nil {
		return measure.Fail(measure.TooLarge, err.Error())
	}
	return nil
}

func (c *bigCache) Delete(key string) (bool, error) {
	err := c.cache.Delete(key)
	if errors.Is(err, bigcache.ErrEntryNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (c *bigCache) Another() measure.Cache { return c }

func (c *bigCache) Evictions() (int64, bool) { return c.evictions.Load(), true }

func (*bigCache) Keeps() bool { return false }

func (c *bigCache) Close() { _ = c.cache.Close() }
