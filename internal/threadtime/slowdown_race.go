//go:build race

package threadtime

// Slowdown is the factor by which a test must extend its time limits with the race detector.
const Slowdown = 10
