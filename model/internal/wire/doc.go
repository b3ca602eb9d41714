// Package wire holds the code that the adapters of package model share: an HTTP client with limits
// and a tap, the meaning of statuses, and the parsing of a call's arguments.
package wire
