package sorting

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBy compares the functions with those of package slices.
func TestBy(t *testing.T) {
	type element struct{ key, place int }
	compare := func(a, b element) int { return a.key - b.key }
	for n := range 200 {
		var all []element
		for i := range n {
			all = append(all, element{rand.IntN(20), i})
		}
		want, got := slices.Clone(all), slices.Clone(all)
		slices.SortStableFunc(want, compare)
		StableBy(got, compare)
		if !slices.Equal(got, want) {
			t.Fatalf("StableBy: got %v, want %v", got, want)
		}
		got = slices.Clone(all)
		By(got, compare)
		if !slices.IsSortedFunc(got, compare) {
			t.Fatalf("By: got %v", got)
		}
		slices.SortFunc(got, func(a, b element) int { return a.place - b.place })
		if !slices.Equal(got, all) {
			t.Fatalf("By lost elements of %v: %v", all, got)
		}
	}
}
