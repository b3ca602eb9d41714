// Package integration runs Junction against servers and clients that nobody here wrote.
// It is a module of its own, so that what it needs stays away from Junction's users.
// See README.md.
package integration
