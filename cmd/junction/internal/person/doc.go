// Package person is the person of package host at a plain terminal: questions are
// lines, answers too. Where there is no terminal the answer is no.
package person
