// Package caches has Go's caches, each behind the interface that is measured.
package caches

import (
	"runtime/debug"
	"strings"

	"larder/guests/go/measure"
)

// openers open the caches, by the names of open.json.
var openers = map[string]func(*measure.Order) (measure.Cache, error){
	"null":      openNull,
	"map":       openMap,
	"lru":       openLRU,
	"ristretto": openRistretto,
	"otter":     openOtter,
	"theine":    openTheine,
	"freecache": openFreecache,
	"bigcache":  openBigcache,
	"memcached": openGomemcache,
	"redis":     openRedis,
}

// Open opens the cache that open.json describes.
func Open(order *measure.Order) (measure.Cache, error) {
	open, ok := openers[order.Cache]
	if !ok {
		return nil, measure.Fail(measure.Other, "unknown cache: "+order.Cache)
	}
	return open(order)
}

// defaultRoom is the capacity of a bounded cache without a plan, in bytes.
const defaultRoom = 64 << 20

// room is the capacity of a bounded cache in bytes, by the option that limits it.
func room(order *measure.Order, option string) int64 {
	return order.Number(option, max(order.RoomBytes, defaultRoom))
}

// titled is the name of a module, and the version that was built in.
func titled(name, path string) string {
	about, ok := debug.ReadBuildInfo()
	if !ok {
		return name
	}
	for _, module := range about.Deps {
		if module.Path == path {
			return name + " " + strings.TrimPrefix(module.Version, "v")
		}
	}
	return name
}

// cost is the weight of an entry: the bytes of its key and its value, as Larder counts a capacity.
func cost(key string, value []byte) int64 {
	return int64(len(key) + len(value))
}

// tooLarge is the refusal of an entry that would not stay in a cache of this capacity.
func tooLarge() error {
	return measure.Fail(measure.TooLarge, "key and value have more bytes than the cache takes")
}
