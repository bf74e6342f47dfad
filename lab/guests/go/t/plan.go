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

const (
	seed = "00000000c0ffee07"
	span = 131_072
)

// testPlan is a plan of one process, or of as many as its phases have shares.
type testPlan struct {
	folder     string
	processes  int
	pool       []byte
	origin     measure.Header
	keys       []string
	newest     []uint32
	recipes    []byte
	values     uint32
	operations []byte
	phases     []map[string]any
}

func newPlan(t *testing.T, keys ...string) *testPlan {
	p := &testPlan{folder: t.TempDir(), processes: 1, keys: keys, newest: make([]uint32, len(keys))}
	p.pool = make([]byte, 240_000)
	for i := range p.pool {
		p.pool[i] = byte(i*7919 + i/256)
	}
	var err error
	if p.origin, err = measure.NewHeader(seed, span, p.pool); err != nil {
		t.Fatal(err)
	}
	return p
}

// value adds a value under a key, and returns its number.
func (p *testPlan) value(key, length int) uint32 {
	p.values++
	at := p.origin.Offset(uint32(key), p.values)
	for _, number := range []uint32{uint32(at), uint32(length), p.newest[key]} {
		p.recipes = binary.LittleEndian.AppendUint32(p.recipes, number)
	}
	p.recipes = append(p.recipes, p.origin.Of(uint32(key), p.values, length)...)
	p.newest[key] = p.values
	return p.values
}

// step is an operation: kind, key and value.
type step [3]uint32

// phase adds a phase; each process has a list of operations.
func (p *testPlan) phase(name string, multiget int, shares ...[]step) {
	var placed [][2]int
	for _, share := range shares {
		placed = append(placed, [2]int{len(p.operations) / 16, len(share)})
		for _, s := range share {
			for _, number := range []uint32{s[0], s[1], s[2], s[1]} {
				p.operations = binary.LittleEndian.AppendUint32(p.operations, number)
			}
		}
	}
	p.processes = len(shares)
	p.phases = append(p.phases, map[string]any{
		"measured": true, "operations": []string{name}, "shares": placed,
		"time_limit_s": nil, "multiget": multiget, "again": false,
	})
}

// run runs all phases, and returns the results of the last.
func (p *testPlan) run(cache measure.Cache) (map[string]any, error) {
	p.write()
	plan, err := measure.ReadPlan(p.folder)
	if err != nil {
		return nil, err
	}
	defer plan.Free()
	judge, crew := measure.NewJudge(plan), measure.NewCrew(cache)
	for number := range p.phases {
		if err := crew.Run(plan, judge, number, func(int64) {}); err != nil {
			return nil, err
		}
	}
	found := map[string]any{}
	text, err := os.ReadFile(filepath.Join(p.folder, fmt.Sprintf("ran-%d-0.json", len(p.phases)-1)))
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	return found, err
}

func (p *testPlan) write() {
	var keys []byte
	for n, key := range p.keys {
		keys = binary.LittleEndian.AppendUint32(keys, p.newest[n])
		keys = binary.LittleEndian.AppendUint32(keys, uint32(len(key)))
		keys = append(keys, key...)
	}
	plan, _ := json.Marshal(map[string]any{
		"pool": filepath.Join(p.folder, "pool.bin"), "seed": seed, "span": span, "processes": p.processes,
		"ttl_s": nil, "replays": false, "phases": p.phases,
	})
	for name, bytes := range map[string][]byte{
		"plan.json": plan, "pool.bin": p.pool, "keys.bin": keys, "values.bin": p.recipes, "ops.bin": p.operations,
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
