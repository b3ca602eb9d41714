package launch

import (
	"maps"
	"slices"
	"testing"
)

func TestAnswersAboutServersOfAProject(t *testing.T) {
	one, three := []int{4}, []int{1, 2, 5}
	for _, test := range []struct {
		typed   string
		open    []int
		want    []int
		decided bool
	}{
		{"y", one, []int{4}, true}, {"Yes", one, []int{4}, true}, {"n", one, nil, true}, {"", one, nil, false}, {"a", one, nil, false}, {"1", one, nil, false},
		{"a", three, []int{1, 2, 5}, true}, {"all", three, []int{1, 2, 5}, true}, {"none", three, nil, true}, {"n", three, nil, true}, {"", three, nil, false},
		{"1 3", three, []int{1, 5}, true}, {"2,3", three, []int{2, 5}, true}, {"1 4", three, nil, false}, {"y", three, nil, false}, {"0", three, nil, false},
	} {
		got, decided := parseConsents(test.typed, test.open)
		if chosen := slices.Sorted(maps.Keys(got)); !slices.Equal(chosen, test.want) || decided != test.decided {
			t.Errorf("%q of %d: %v, %v", test.typed, len(test.open), chosen, decided)
		}
	}
}
