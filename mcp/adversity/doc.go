// Package adversity contains only tests: scripted servers and clients that misbehave. They run over
// every transport and revision, through a bridge with sixteen clients of both eras at a time. Each
// test file describes its scenario.
package adversity
