// Package httpedge is what the server transports over HTTP share: reading bodies,
// looking at media types, writing streams of events, and the headers that
// browsers want to see.
package httpedge
