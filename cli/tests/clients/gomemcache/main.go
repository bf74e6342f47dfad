// Gomemcache: every method of its client, against the server at the address of the first argument.
//
// The program prints what differs from memcached and ends with code 1, or prints `OK`.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

var differences []string

func same(what string, got, expected any) {
	if !reflect.DeepEqual(got, expected) {
		difference := fmt.Sprintf("%s: %.200v in place of %.200v", what, got, expected)
		differences = append(differences, difference)
	}
}

// is compares errors, for which the client has constants.
func is(what string, got, expected error) {
	if !errors.Is(got, expected) {
		differences = append(differences, fmt.Sprintf("%s: %v in place of %v", what, got, expected))
	}
}

var client *memcache.Client

// value is the value under a key, or the error of reading it.
func value(key string) string {
	item, err := client.Get(key)
	if err != nil {
		return err.Error()
	}
	return string(item.Value)
}

func item(key, value string) *memcache.Item {
	return &memcache.Item{Key: key, Value: []byte(value)}
}

func storing() {
	is("Get of an absent key", second(client.Get("k")), memcache.ErrCacheMiss)
	is("Replace of an absent key", client.Replace(item("k", "v")), memcache.ErrNotStored)
	is("Append to an absent key", client.Append(item("k", "v")), memcache.ErrNotStored)
	is("Prepend to an absent key", client.Prepend(item("k", "v")), memcache.ErrNotStored)
	is("Set", client.Set(item("k", "middle")), nil)
	is("Add of a present key", client.Add(item("k", "v")), memcache.ErrNotStored)
	is("Add", client.Add(item("added", "v")), nil)
	is("Append", client.Append(item("k", " end")), nil)
	is("Prepend", client.Prepend(item("k", "start ")), nil)
	same("Get", value("k"), "start middle end")
	is("Replace", client.Replace(item("k", "new")), nil)
	same("Get after Replace", value("k"), "new")
	is("Set of an empty value", client.Set(item("empty", "")), nil)
	same("an empty value", value("empty"), "")
	is("Set with flags", client.Set(&memcache.Item{Key: "flags", Value: []byte("v"), Flags: 1<<32 - 1}), nil)
	got, err := client.Get("flags")
	is("Get with flags", err, nil)
	if err == nil {
		same("the flags", got.Flags, uint32(1<<32-1))
	}
}

func comparing() {
	got, err := client.Get("k")
	is("Get before CompareAndSwap", err, nil)
	if err != nil {
		return
	}
	old := *got
	got.Value = []byte("newer")
	is("CompareAndSwap", client.CompareAndSwap(got), nil)
	is("CompareAndSwap with an old version", client.CompareAndSwap(&old), memcache.ErrCASConflict)
	same("the value after both", value("k"), "newer")
	got, _ = client.Get("k")
	is("Delete before CompareAndSwap", client.Delete("k"), nil)
	is("CompareAndSwap of an absent key", client.CompareAndSwap(got), memcache.ErrCacheMiss)
}

func many() {
	expected := map[string]string{}
	keys := []string{"absent"}
	for i := 0; i < 100; i++ {
		key, value := fmt.Sprintf("many%d", i), strings.Repeat(fmt.Sprint(i), i)
		expected[key] = value
		keys = append(keys, key)
		is("Set of many", client.Set(item(key, value)), nil)
	}
	items, err := client.GetMulti(keys)
	is("GetMulti", err, nil)
	got := map[string]string{}
	for key, item := range items {
		got[key] = string(item.Value)
	}
	same("GetMulti", got, expected)
}

func counting() {
	is("Increment of an absent key", second(client.Increment("number", 1)), memcache.ErrCacheMiss)
	is("Decrement of an absent key", second(client.Decrement("number", 1)), memcache.ErrCacheMiss)
	is("Set of a number", client.Set(item("number", "10")), nil)
	same("Increment", first(client.Increment("number", 5)), uint64(15))
	same("Decrement", first(client.Decrement("number", 4)), uint64(11))
	same("Decrement below zero", first(client.Decrement("number", 100)), uint64(0))
	is("Set of the largest number", client.Set(item("number", fmt.Sprint(uint64(1<<64-1)))), nil)
	same("Increment beyond it", first(client.Increment("number", 2)), uint64(1))
	is("Set of a word", client.Set(item("word", "word")), nil)
	_, err := client.Increment("word", 1)
	same("Increment of a word", fmt.Sprint(err),
		"memcache: client error: cannot increment or decrement non-numeric value")
}

func keysAndSizes() {
	long := strings.Repeat("k", 250)
	is("Set of a key of 250 bytes", client.Set(item(long, "long")), nil)
	same("a key of 250 bytes", value(long), "long")
	is("Set of a key of 251 bytes", client.Set(item(long+"k", "v")), memcache.ErrMalformedKey)
	is("Set of a key in Unicode", client.Set(item("schlüssel–鍵", "wért–値")), nil)
	same("a key in Unicode", value("schlüssel–鍵"), "wért–値")
	large := bytes.Repeat([]byte("\x00\r\n\xff"), 1<<18)
	fitting := string(large[1024:])
	is("Set of a large value", client.Set(item("large", fitting)), nil)
	same("a large value", value("large") == fitting, true)
	same("a value that is too large", client.Set(item("large", string(large)+"x")) == nil, false)
	is("the key of a value that was too large", second(client.Get("large")), memcache.ErrCacheMiss)
	is("Set after it", client.Set(item("k", "v")), nil)
	same("the value after it", value("k"), "v")
}

func lifetimes() {
	set := func(key string, expiration int32) {
		is("Set of "+key, client.Set(&memcache.Item{Key: key, Value: []byte("v"), Expiration: expiration}), nil)
	}
	now := int32(time.Now().Unix())
	// An entry of memcached with a TTL of one second may end at once, at the next tick of its clock.
	set("short", 2)
	set("touched", 2)
	set("gat", 2)
	set("date", now+100)
	same("a date", value("date"), "v")
	set("date", now-100)
	is("a date in the past", second(client.Get("date")), memcache.ErrCacheMiss)
	set("past", -1)
	is("a time in the past", second(client.Get("past")), memcache.ErrCacheMiss)
	is("Touch", client.Touch("touched", 100), nil)
	is("Touch of an absent key", client.Touch("absent", 100), memcache.ErrCacheMiss)
	got, err := client.GetAndTouch("gat", 100)
	is("GetAndTouch", err, nil)
	if err == nil {
		same("the value of GetAndTouch", string(got.Value), "v")
	}
	is("GetAndTouch of an absent key", second(client.GetAndTouch("absent", 100)), memcache.ErrCacheMiss)
	time.Sleep(3200 * time.Millisecond)
	is("an expired key", second(client.Get("short")), memcache.ErrCacheMiss)
	same("a touched key", value("touched"), "v")
	same("a key that was read and touched", value("gat"), "v")
}

func others() {
	is("Ping", client.Ping(), nil)
	is("Delete", client.Delete("k"), nil)
	is("Delete of an absent key", client.Delete("k"), memcache.ErrCacheMiss)
	is("DeleteAll", client.DeleteAll(), nil)
	is("Get after DeleteAll", second(client.Get("added")), memcache.ErrCacheMiss)
	is("Set before FlushAll", client.Set(item("k", "v")), nil)
	is("FlushAll", client.FlushAll(), nil)
	is("Get after FlushAll", second(client.Get("k")), memcache.ErrCacheMiss)
	is("Close", client.Close(), nil)
	is("Set on a new connection", client.Set(item("k", "v")), nil)
}

func first[T any](value T, _ error) T    { return value }
func second[T any](_ T, err error) error { return err }

func main() {
	client = memcache.New(os.Args[1])
	client.Timeout = 10 * time.Second
	is("the first FlushAll", client.FlushAll(), nil)
	for _, part := range []func(){storing, comparing, many, counting, keysAndSizes, lifetimes, others} {
		part()
	}
	if len(differences) > 0 {
		fmt.Println(strings.Join(differences, "\n"))
		os.Exit(1)
	}
	fmt.Println("OK")
}
