// Package wire is what the adapters of package model share below the vendors' libraries: an HTTP client with limits and
// a tap, what a status means, and how the arguments of a call are read.
package wire
