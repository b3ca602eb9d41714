// Package export sends the lines of an audit log to where others collect logs: over OTLP, or to a syslog. The log
// on the disk stays what counts: what is sent has no hashes that could be verified on their own, and lines are
// dropped, and counted, where the collector cannot be reached for long.
package export
