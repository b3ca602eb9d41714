//go:build race

package adversity

// slow is by how much the race detector slows things down, roughly.
const slow = 5
