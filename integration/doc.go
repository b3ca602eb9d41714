// Package integration tests Junction with servers and clients of other projects. It is a module of
// its own, so that Junction's users do not get its dependencies. See README.md.
package integration
