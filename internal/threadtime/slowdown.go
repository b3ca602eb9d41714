//go:build !race

package threadtime

// Slowdown is how much more time a test must allow for work that the race
// detector watches closely; without it, none.
const Slowdown = 1
