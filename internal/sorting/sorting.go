// Package sorting sorts short lists. Package slices is twice as fast, but every package that calls
// it compiles a copy of its algorithms, 17 KB of machine code, for each type of element.
package sorting

import "sort"

// By sorts s by a function that returns a negative number if a is before b and a positive one if
// it is after b. Elements for which it returns 0 end up in any order.
func By[E any](s []E, compare func(a, b E) int) { sort.Sort(listOf(s, compare)) }

// StableBy is like [By] and keeps the order of elements for which compare returns 0.
func StableBy[E any](s []E, compare func(a, b E) int) { sort.Stable(listOf(s, compare)) }

func listOf[E any](s []E, compare func(a, b E) int) *list {
	return &list{
		len(s),
		func(i, j int) bool { return compare(s[i], s[j]) < 0 },
		func(i, j int) { s[i], s[j] = s[j], s[i] },
	}
}

// A list implements [sort.Interface] for elements of any type.
type list struct {
	n    int
	less func(i, j int) bool
	swap func(i, j int)
}

func (l *list) Len() int           { return l.n }
func (l *list) Less(i, j int) bool { return l.less(i, j) }
func (l *list) Swap(i, j int)      { l.swap(i, j) }
