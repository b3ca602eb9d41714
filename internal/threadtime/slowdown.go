//go:build !race

package threadtime

// Slowdown is the factor by which a test must extend its time limits with the race detector;
// without it, 1.
const Slowdown = 1
