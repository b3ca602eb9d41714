// Package answer answers what servers ask in the middle of a call: with a form
// on the terminal (elicitation), with a text in place of a model (sampling),
// with the folders that flags name (roots).
package answer
