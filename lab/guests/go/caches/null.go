// Keeps nothing and returns the value that was set last: its figures are the floor of this language.

package caches

import (
	"time"

	"larder/guests/go/measure"
)

type null struct {
	measure.Plain
	held []byte
}

func openNull(*measure.Order) (measure.Cache, error) { return &null{}, nil }

func (*null) Title() string                { return "null" }
func (*null) Settings() map[string]string  { return map[string]string{} }
func (c *null) Get(string) ([]byte, error) { return c.held, nil }

func (c *null) Set(_ string, value []byte, _ time.Duration) error {
	c.held = value
	return nil
}

// Delete tells that every key was there, for the way to a key is measured.
func (*null) Delete(string) (bool, error) { return true, nil }

func (*null) Touch(string, time.Duration) (bool, error) { return true, nil }

func (c *null) GetMany(_ []string, found [][]byte) error {
	for n := range found {
		found[n] = c.held
	}
	return nil
}

func (*null) Another() measure.Cache { return &null{} }

// Keeps is false: values are prepared for it as for a cache that copies them, because all but the last are garbage.
func (*null) Keeps() bool { return false }
