// Package nearest finds the existing name that is most similar to an unknown name, for messages
// such as "did you mean".
package nearest
