// Package traces sends spans to a collector of OpenTelemetry, so that mcp/otelmcp, and whatever else makes spans in
// a program, can be looked at.
package traces
