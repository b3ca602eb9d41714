// Package nearest finds which name was meant by one that does not exist, for
// "did you mean".
package nearest
