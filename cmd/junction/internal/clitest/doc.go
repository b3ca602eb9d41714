// Package clitest has what tests of the commands share: a place of its own for each test, certificates,
// listeners, servers to log in at, and a chat that is typed into.
package clitest
