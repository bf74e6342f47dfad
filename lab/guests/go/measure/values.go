// The values of a plan, by their numbers from 1 on. A value that was read is compared with the pieces of the expected
// value. This is as fast as comparing with the whole value, and creates no garbage. Only values to store are composed.

package measure

import (
	"bytes"
	"encoding/binary"
)

const (
	// headerBytes is the length of a value's header, which no other value has. A shorter value has no header.
	headerBytes = 24
	recipeBytes = 36
	// recipeHeader is the place of the header in a recipe.
	recipeHeader = 12
)

type values struct {
	pool    []byte
	recipes []byte
}

func readValues(file, pool string) (*values, error) {
	v := &values{}
	var err error
	if v.recipes, err = mapFile(file); err != nil {
		return nil, err
	}
	if v.pool, err = mapFile(pool); err != nil {
		v.free()
		return nil, err
	}
	return v, nil
}

func (v *values) free() {
	unmap(v.recipes)
	unmap(v.pool)
}

func (v *values) recipe(number uint32) []byte {
	at := (int(number) - 1) * recipeBytes
	return v.recipes[at : at+recipeBytes]
}

func (v *values) length(number uint32) int {
	return int(binary.LittleEndian.Uint32(v.recipe(number)[4:]))
}

// previous is the number of the value stored before under the same key; 0 where there is no such value.
func (v *values) previous(number uint32) uint32 {
	return binary.LittleEndian.Uint32(v.recipe(number)[8:])
}

// compose appends a value to bytes.
func (v *values) compose(to []byte, number uint32) []byte {
	recipe := v.recipe(number)
	at, length := int(binary.LittleEndian.Uint32(recipe)), v.length(number)
	if length < headerBytes {
		return append(to, v.pool[at:at+length]...)
	}
	to = append(to, recipe[recipeHeader:]...)
	return append(to, v.pool[at+headerBytes:at+length]...)
}

// isValue tells whether this is the value of that number.
func (v *values) isValue(number uint32, got []byte) bool {
	if number == 0 || len(got) != v.length(number) {
		return false
	}
	recipe := v.recipe(number)
	at := int(binary.LittleEndian.Uint32(recipe))
	if len(got) < headerBytes {
		return bytes.Equal(got, v.pool[at:at+len(got)])
	}
	return bytes.Equal(got[:headerBytes], recipe[recipeHeader:]) &&
		bytes.Equal(got[headerBytes:], v.pool[at+headerBytes:at+len(got)])
}

// first are the first bytes of a value, which tell its number among the values of its key.
func (v *values) first(number uint32) []byte {
	recipe := v.recipe(number)
	if length := v.length(number); length < headerBytes {
		at := int(binary.LittleEndian.Uint32(recipe))
		return v.pool[at : at+length]
	}
	return recipe[recipeHeader:]
}
