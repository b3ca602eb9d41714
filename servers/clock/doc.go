// Package clock is a server that tells the time and converts it between time zones, where models
// make mistakes. It ships as "time". Its tools are those of the reference server with that name, so
// that clients and prompts for that server work.
package clock
