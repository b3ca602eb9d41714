// Package wire holds the code that the adapters of package model share. It has an HTTP client with
// limits and a tap, maps statuses to errors, and parses the arguments of calls.
package wire
