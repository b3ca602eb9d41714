// Package eventstream reads and writes Server-Sent Events, the text/event-stream
// format of the WHATWG HTML standard (section 9.2.6), as MCP's HTTP transports use it.
//
// It departs from what browsers do in one point: an event that has no data but
// an id or a retry time is delivered, not only remembered. MCP servers open a
// stream with such an event, so that a client that is cut off knows where to
// resume.
//
// Text is passed on as it came. Invalid UTF-8 is not replaced, so that whoever
// decodes the data can refuse it.
package eventstream
