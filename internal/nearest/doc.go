// Package nearest finds the existing name most similar to one that does not exist, for "did you
// mean".
package nearest
