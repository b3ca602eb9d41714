//go:build !race

package adversity

const slow = 1
