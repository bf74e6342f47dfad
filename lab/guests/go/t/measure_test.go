package t

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"larder/guests/go/measure"
)

// get is the kind of a get in a plan.
const get = 0

func gets(count int, value uint32) []step {
	all := make([]step, count)
	for n := range all {
		all[n] = step{get, 0, value}
	}
	return all
}

// failing has a get that misses once in so many, and fails otherwise.
func failing(every int) *broken {
	asked := 0
	return &broken{get: func(string) ([]byte, error) {
		asked++
		if asked%every == 0 {
			return nil, nil
		}
		return nil, measure.Fail(measure.Timeout, "no answer")
	}}
}

func TestAHundredFailuresInARowAreEnough(t *testing.T) {
	plan := newPlan(t, "a")
	_, err := plan.run(failing(1000), 1, gets(101, plan.value(0, 40)))
	var failure *measure.Failure
	if !errors.As(err, &failure) || failure.Kind != measure.Timeout ||
		failure.Text != "gave up after 100 failures in a row: no answer" {
		t.Fatal(err)
	}
}

func TestNinetyNineFailuresBeforeEachAnswerAreNeverEnough(t *testing.T) {
	plan := newPlan(t, "a")
	records, err := plan.run(failing(100), 1, gets(1000, plan.value(0, 40)))
	if err != nil {
		t.Fatal(err)
	}
	found := records[0]
	if found.count(failed) != 990 || found.count(missed) != 10 || found.errorKinds()["timeout"] != 990 {
		t.Fatal(found)
	}
	if first := found.notes[0].bytes; first != "timeout\nno answer" || found.notes[1].bytes != "timeout" {
		t.Fatal("the first error alone has a text:", first)
	}
}

func TestARequestOfManyKeysIsOneFailure(t *testing.T) {
	plan := newPlan(t, "a")
	_, err := plan.run(failing(1000), 7, gets(706, plan.value(0, 40)))
	if err == nil || !strings.HasPrefix(err.Error(), "gave up after 100 ") {
		t.Fatal(err)
	}
}

// Every request finds its first two keys, and fails at the others.
func TestTheKeysThatARequestFoundHaveNotFailed(t *testing.T) {
	plan := newPlan(t, "a")
	value := plan.value(0, 40)
	asked := 0
	cache := &broken{get: func(string) ([]byte, error) {
		asked++
		if asked%3 == 0 {
			return nil, measure.Fail(measure.IO, "the server has gone")
		}
		return plan.text(value, 40), nil
	}}
	records, err := plan.run(cache, 5, gets(1000, value))
	if err != nil {
		t.Fatal(err)
	}
	found := records[0]
	for n, outcome := range found.outcomes {
		if expected := map[bool]byte{true: done, false: failed}[n%5 < 2]; outcome != expected {
			t.Fatalf("key %d: outcome %d", n, outcome)
		}
	}
	if len(found.outcomes) != 1000 || found.errorKinds()["io"] != 600 {
		t.Fatal(found.errorKinds())
	}
}

// The older value of the key has a number. Of the others, 16 MiB are sent as they are.
func TestOtherValuesAreSent(t *testing.T) {
	const length = 1 << 20
	plan := newPlan(t, "a")
	older, newer := plan.value(0, 40), plan.value(0, 50)
	asked := 0
	cache := &broken{get: func(string) ([]byte, error) {
		asked++
		if asked%2 == 0 {
			return plan.text(older, 40), nil
		}
		return bytes.Repeat([]byte{byte(asked)}, length), nil
	}}
	records, err := plan.run(cache, 1, gets(40, newer))
	if err != nil {
		t.Fatal(err)
	}
	found := records[0]
	if found.count(other) != 40 || len(found.notes) != 40 {
		t.Fatal(found.outcomes)
	}
	for n, told := range found.notes {
		expected := note{uint32(n), byNumber, older, ""}
		if n%2 == 0 {
			sent := length
			if n >= 32 {
				sent = 64
			}
			expected = note{uint32(n), byBytes, length, strings.Repeat(string(rune(n+1)), sent)}
		}
		if told != expected {
			t.Fatalf("note %d: kind %d, number %d, %d bytes", n, told.kind, told.number, len(told.bytes))
		}
	}
}

// A plan of more operations than a block has is sent in the order of time.
func TestBlocksFollowEachOther(t *testing.T) {
	plan := newPlan(t, "a")
	value := plan.value(0, 40)
	cache := &broken{get: func(string) ([]byte, error) { return plan.text(value, 40), nil }}
	for _, shares := range [][][]step{{gets(10_000, value)}, {gets(10_000, value), gets(300_000, value)}} {
		records, err := plan.run(cache, 1, shares...)
		if err != nil {
			t.Fatal(err)
		}
		for process, found := range records {
			if count := found.count(done); count != len(shares[process]) || !slices.IsSorted(found.ends) {
				t.Fatalf("process %d: %d operations", process, count)
			}
		}
		plan.folder = t.TempDir()
	}
}

func TestNoFiniteTTLBecomesForever(t *testing.T) {
	for seconds, expected := range map[float64]time.Duration{
		1e-12: 1, 0.001_5: 1_500_000, 1.1: 1_100_000_000, 1e300: measure.LongestTTL,
	} {
		if found := measure.Span(seconds); found != expected {
			t.Errorf("%v s: %v, not %v", seconds, found, expected)
		}
	}
	if found := measure.WholeSeconds(time.Millisecond); found != 1 {
		t.Errorf("a millisecond: %d s", found)
	}
}

// The garbage of the cache is collected while the clock runs, in one goroutine and in two.
func TestTheCollectorIsTold(t *testing.T) {
	var kept [256][]byte
	made := 0
	littering := func(string) ([]byte, error) {
		made++
		kept[made%len(kept)] = bytes.Repeat([]byte{1}, 100_000)
		return nil, nil
	}
	plan := newPlan(t, "a")
	value := plan.value(0, 40)
	records, err := plan.run(&broken{get: littering}, 1, gets(3000, value))
	if err != nil {
		t.Fatal(err)
	}
	told := records[0].end["collector"].(map[string]any)
	pause, longest := told["pause_ns"].(float64), told["longest_pause_ns"].(float64)
	if told["cycles"].(float64) < 2 || longest <= 0 || pause < longest || told["cpu_ns"].(float64) <= 0 {
		t.Fatal(told)
	}
	plan = newPlan(t, "a")
	value = plan.value(0, 40)
	idle := &broken{get: func(string) ([]byte, error) { return nil, nil }}
	records, err = plan.run(idle, 1, gets(10, value), gets(10, value))
	if err != nil || records[0].end["collector"] == nil || records[1].end["collector"] != nil {
		t.Fatal(records, err)
	}
}

func TestACacheThatCannotBeOpenedIsReported(t *testing.T) {
	folder := t.TempDir()
	order := []byte(`{"protocol": 3, "cache": "nothing", "options": {}, "servers": [], "room_bytes": null}`)
	if err := os.WriteFile(filepath.Join(folder, "open.json"), order, 0o600); err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	open := func(order *measure.Order) (measure.Cache, error) {
		return nil, measure.Fail(measure.Other, "unknown cache:\n"+order.Cache)
	}
	guest, err := measure.OpenGuest(measure.NewProtocol(strings.NewReader(""), said), folder, open)
	if guest != nil || err != nil || said.String() != "{\"unavailable\":\"unknown cache: nothing\"}\n" {
		t.Fatal(guest, err, said)
	}
}
