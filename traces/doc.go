// Package traces sends spans to an OpenTelemetry collector, for example the spans that mcp/otelmcp
// makes.
package traces
