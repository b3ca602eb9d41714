// Package adversity holds tests only: scripted servers and clients that
// misbehave, run over every transport and revision through a bridge with
// sixteen clients of both eras at a time. See the files for the scenarios.
package adversity
