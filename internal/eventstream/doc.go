// Package eventstream reads and writes Server-Sent Events, the text/event-stream format of the
// WHATWG HTML standard (section 9.2.6), for the HTTP transports of MCP.
//
// It differs from browsers in one point: it delivers an event without data that has an id or a
// retry time. MCP servers open a stream with such an event, so that a client that loses the
// connection has a position to resume from.
//
// Text is passed on unchanged. Invalid UTF-8 is not replaced, so that the decoder of the data can
// refuse it.
package eventstream
