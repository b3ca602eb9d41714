// Package clock is a server that tells the time and converts it between time zones: what a model
// does not know, and reckons wrong. It ships as "time", with the tools of the reference server of that
// name, so that what was written for that works.
package clock
