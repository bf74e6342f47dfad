// Package t tests the program without servers and modules. This file writes small plans as Larder does, and runs them by a
// crew on a cache.
package t

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"larder/guests/go/measure"
)

// poolBytes is the length of the pool, in which all bytes are 0.
const poolBytes = 4096

// testPlan is a plan of one phase.
type testPlan struct {
	folder  string
	keys    []string
	newest  []uint32
	recipes []byte
	values  uint32
}

func newPlan(t *testing.T, keys ...string) *testPlan {
	return &testPlan{folder: t.TempDir(), keys: keys, newest: make([]uint32, len(keys))}
}

// value adds a value of 24 bytes or more under a key, and returns its number.
func (p *testPlan) value(key, length int) uint32 {
	p.values++
	for _, number := range []uint32{0, uint32(length), p.newest[key]} {
		p.recipes = binary.LittleEndian.AppendUint32(p.recipes, number)
	}
	p.recipes = append(p.recipes, p.header(p.values)...)
	p.newest[key] = p.values
	return p.values
}

// header is that of a value. Any bytes are right that no other value has.
func (p *testPlan) header(value uint32) []byte {
	return fmt.Appendf(nil, "%024d", value)
}

// text is a value with its length.
func (p *testPlan) text(value uint32, length int) []byte {
	return append(p.header(value), make([]byte, length-24)...)
}

// step is an operation: kind, key and value.
type step [3]uint32

// run runs the phase, in which each process has a list of operations, and returns the record of each process.
func (p *testPlan) run(cache measure.Cache, multiget int, shares ...[]step) ([]*record, error) {
	p.write(multiget, shares)
	plan, err := measure.ReadPlan(p.folder)
	if err != nil {
		return nil, err
	}
	defer plan.Free()
	records := receive(p.folder, len(shares))
	err = measure.NewCrew(cache).Run(plan, 0, func(int64) {})
	return records(err == nil), err
}

func (p *testPlan) write(multiget int, shares [][]step) {
	var operations, keys []byte
	var placed [][2]int
	for _, share := range shares {
		placed = append(placed, [2]int{len(operations) / 16, len(share)})
		for _, s := range share {
			for _, number := range []uint32{s[0], s[1], s[2], s[1]} {
				operations = binary.LittleEndian.AppendUint32(operations, number)
			}
		}
	}
	for n, key := range p.keys {
		keys = binary.LittleEndian.AppendUint32(keys, p.newest[n])
		keys = binary.LittleEndian.AppendUint32(keys, uint32(len(key)))
		keys = append(keys, key...)
	}
	phase := map[string]any{
		"measured": true, "shares": placed, "time_limit_s": nil, "multiget": multiget, "again": false,
	}
	plan, _ := json.Marshal(map[string]any{
		"pool": filepath.Join(p.folder, "pool.bin"), "processes": len(shares), "ttl_s": nil, "replays": false,
		"phases": []any{phase},
	})
	for name, bytes := range map[string][]byte{
		"plan.json": plan, "pool.bin": make([]byte, poolBytes), "keys.bin": keys, "values.bin": p.recipes,
		"ops.bin": operations,
	} {
		if err := os.WriteFile(filepath.Join(p.folder, name), bytes, 0o600); err != nil {
			panic(err)
		}
	}
}

// broken is a cache whose every method can be replaced.
type broken struct {
	measure.Plain
	get func(string) ([]byte, error)
}

func (*broken) Title() string                           { return "broken" }
func (*broken) Settings() map[string]string             { return nil }
func (c *broken) Get(key string) ([]byte, error)        { return c.get(key) }
func (*broken) Set(string, []byte, time.Duration) error { return nil }
func (*broken) Delete(string) (bool, error)             { return false, nil }
func (c *broken) Another() measure.Cache                { return c }
