package host

import (
	"crypto/sha256"

	"github.com/junction-mcp/junction/model"
)

// A model that repeats itself is warned once, and stopped if it goes on.
const (
	loopWarn = 3 // times the same turns came
	loopStop = 5
	loopSpan = 4 // turns that a repetition may be long
)

// A loopDetector sees turns that repeat: the same calls with the same results,
// alone or in a circle of a few turns.
type loopDetector struct{ turns [][32]byte }

// turn adds a turn and returns how often the last turns came in a row.
func (l *loopDetector) turn(calls []*model.Call, results []*model.Result) int {
	hash := sha256.New()
	for i, call := range calls {
		hash.Write([]byte(call.Name))
		hash.Write([]byte{0})
		hash.Write(call.Arguments)
		hash.Write([]byte{0})
		if i < len(results) {
			hash.Write([]byte(results[i].Text()))
		}
		hash.Write([]byte{1})
	}
	l.turns = append(l.turns, [32]byte(hash.Sum(nil)))
	if most := loopSpan * loopStop; len(l.turns) > most {
		l.turns = l.turns[len(l.turns)-most:]
	}
	longest := 1
	for span := 1; span <= loopSpan; span++ {
		longest = max(longest, l.repeats(span))
	}
	return longest
}

// repeats counts how often the last span turns came in a row.
func (l *loopDetector) repeats(span int) int {
	n := len(l.turns)
	times := 1
	for at := n - 2*span; at >= 0; at -= span {
		for i := range span {
			if l.turns[at+i] != l.turns[n-span+i] {
				return times
			}
		}
		times++
	}
	return times
}
