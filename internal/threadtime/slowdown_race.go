//go:build race

package threadtime

// Slowdown is how much more time a test must allow for work that the race
// detector watches closely.
const Slowdown = 10
