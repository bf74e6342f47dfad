package t

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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
	plan.phase("get", 1, gets(101, plan.value(0, 40)))
	_, err := plan.run(failing(1000))
	var failure *measure.Failure
	if !errors.As(err, &failure) || failure.Kind != measure.Timeout ||
		failure.Text != "gave up after 100 failures in a row: no answer" {
		t.Fatal(err)
	}
}

func TestNinetyNineFailuresBeforeEachAnswerAreNeverEnough(t *testing.T) {
	plan := newPlan(t, "a")
	plan.phase("get", 1, gets(1000, plan.value(0, 40)))
	found, err := plan.run(failing(100))
	if err != nil {
		t.Fatal(err)
	}
	of := found["operations"].(map[string]any)["get"].(map[string]any)
	if of["errors"] != 990.0 || of["misses"] != 10.0 || of["errors_by_kind"].(map[string]any)["timeout"] != 990.0 {
		t.Fatal(of)
	}
}

func TestARequestOfManyKeysIsOneFailure(t *testing.T) {
	plan := newPlan(t, "a")
	plan.phase("get_many", 7, gets(706, plan.value(0, 40)))
	_, err := plan.run(failing(1000))
	if err == nil || !strings.HasPrefix(err.Error(), "gave up after 100 ") {
		t.Fatal(err)
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
	plan.phase("get", 1, gets(3000, value))
	found, err := plan.run(&broken{get: littering})
	if err != nil {
		t.Fatal(err)
	}
	told := found["collector"].(map[string]any)
	pause, longest := told["pause_ns"].(float64), told["longest_pause_ns"].(float64)
	if told["cycles"].(float64) < 2 || longest <= 0 || pause < longest || told["cpu_ns"].(float64) <= 0 {
		t.Fatal(told)
	}
	plan = newPlan(t, "a")
	value = plan.value(0, 40)
	idle := &broken{get: func(string) ([]byte, error) { return nil, nil }}
	plan.phase("get", 1, gets(10, value), gets(10, value))
	if found, err = plan.run(idle); err != nil || found["collector"] == nil {
		t.Fatal(found, err)
	}
}

func TestACacheThatCannotBeOpenedIsReported(t *testing.T) {
	folder := t.TempDir()
	order := []byte(`{"protocol": 2, "cache": "nothing", "options": {}, "servers": [], "room_bytes": null}`)
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
