// Decides whether an unexpected value is right because another goroutine stored a newer value, and otherwise in which way
// it is wrong. The judge sees only values that differ from the expected one.

package measure

// tellingBytes is the length from which a value without a header hardly ever equals another value by chance.
const tellingBytes = 8

// Judge knows the keys with an unacknowledged change.
type Judge struct {
	plan      *Plan
	uncertain map[uint32]struct{}
}

// NewJudge trusts every key.
func NewJudge(plan *Plan) *Judge {
	return &Judge{plan, map[uint32]struct{}{}}
}

// distrust notes that a change of this key was not acknowledged, so it may have any of its values.
func (j *Judge) distrust(key uint32) {
	j.uncertain[key] = struct{}{}
}

// another is a judge with the same knowledge, for another goroutine.
func (j *Judge) another() *Judge {
	other := NewJudge(j.plan)
	other.learnFrom(j)
	return other
}

func (j *Judge) learnFrom(other *Judge) {
	for key := range other.uncertain {
		j.distrust(key)
	}
}

// verdict is the outcome of operation n of the block, which got another value than the expected one.
func (j *Judge) verdict(b *block, n int, got []byte) outcome {
	b.length[n] = int32(len(got))
	if !j.plan.replays && j.isRight(b, n, got) {
		return right
	}
	how := damaged
	if !j.plan.replays {
		how = j.wrong(b.keyIndex[n], b.right[n], got)
	}
	b.noteWrong(n, how, got)
	return how
}

// wrong tells in which way got is wrong; expected is the number of the right value, or 0 without one.
func (j *Judge) wrong(key, expected uint32, got []byte) outcome {
	if len(got) < HeaderBytes {
		return j.wrongWithoutHeader(key, expected, got)
	}
	origin := j.plan.values.origin
	tag, length, ok := origin.readIntact(got)
	switch {
	case !ok:
		return damaged
	case tag != origin.tagOf(key):
		return otherKey
	case len(got) < length:
		return truncated
	default:
		return stale
	}
}

// Where the key's values are shorter than a header, their bytes alone tell them apart. Otherwise a truncated value begins
// as the tag of its key does.
func (j *Judge) wrongWithoutHeader(key, expected uint32, got []byte) outcome {
	values, newest := j.plan.values, j.plan.newest(key)
	isCut := false
	if newest != 0 && values.length(newest) < HeaderBytes {
		if len(got) >= tellingBytes && j.plan.numbersOf(key).find(got) != 0 {
			return stale
		}
		isCut = expected != 0 && len(got) < values.length(expected) && values.begins(expected, got)
	} else {
		isCut = values.origin.begins(key, got)
	}
	if isCut {
		return truncated
	}
	return damaged
}

// isRight tells whether got is one of the key's values from the oldest right one to the newest. Its first bytes give the
// number of the one value to compare it with. Where the key must be absent, no number is large enough.
func (j *Judge) isRight(b *block, n int, got []byte) bool {
	key := b.keyIndex[n]
	number := j.plan.numbersOf(key).find(got)
	if number == 0 {
		return false
	}
	_, isUncertain := j.uncertain[key]
	// The value of a fill under another key says nothing about the values of this key.
	isNew := number >= b.value[n] || b.underIndex[n] != key
	return (isNew || isUncertain) && j.plan.values.isValue(number, got)
}
