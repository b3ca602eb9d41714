// Package httpedge contains the parts that all HTTP server transports share: reading bodies,
// checking media types, writing streams of events, and the headers for browsers.
package httpedge
