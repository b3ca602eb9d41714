// Package person implements the person of package host on a plain terminal, with questions and
// answers in lines. Without a terminal the answer is no.
package person
