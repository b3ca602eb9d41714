// Package clitest has helpers that the tests of the commands share. They provide a separate place
// for each test, certificates, listeners, login servers, and a chat that a test types into.
package clitest
