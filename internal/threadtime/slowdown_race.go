//go:build race

package threadtime

// Slowdown is the factor by which tests must extend their time limits because of the race detector.
const Slowdown = 10
