// Package export sends the lines of an audit log to a collector of logs, over OTLP or syslog. The
// log on disk remains the authoritative one: exported lines have no hashes that could be verified
// on their own. If the collector cannot be reached for long, lines are dropped and counted.
package export
