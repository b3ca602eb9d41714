// Package httpedge holds the parts that the server transports over HTTP share: reading bodies,
// checking media types, writing streams of events, and the headers for browsers.
package httpedge
