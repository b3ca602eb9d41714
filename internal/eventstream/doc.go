// Package eventstream reads and writes Server-Sent Events, the text/event-stream format of the
// WHATWG HTML standard (section 9.2.6), for the HTTP transports of MCP.
//
// It differs from browsers in one point: it also delivers an event without data if the event has an
// id or a retry time. MCP servers begin a stream with such an event to give clients an id from
// which they can resume.
//
// Text is passed on unchanged. Invalid UTF-8 is not replaced, so that the decoder of the data can
// reject it.
package eventstream
