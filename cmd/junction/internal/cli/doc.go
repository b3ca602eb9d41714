// Command junction works with servers of the Model Context Protocol: it lists
// and calls what they offer, lets a language model use them, serves many behind one
// endpoint, and bridges the revisions of the protocol. Run junction --help.
//
// # Exit codes
//
//	0    done
//	1    the tool says that it failed (isError)
//	2    the command line is wrong, or arguments do not fit the tool
//	3    no connection: configuration, start, connection lost; or a local file
//	4    the server answered with a protocol error
//	5    the server did not answer in time
//	6    Junction refused it: rules, limits, secrets, review, scopes
//	130  interrupted (Ctrl-C)
//
// Those of junction chat differ in 1, 2 and 4: see its --help.
//
// With --json an error is also an object {"error": {"code", "message", "data"}} on
// standard output; code and data are there if the server gave them.
// Package cli has the parts that all commands share: the App with the environment, files, screens and
// flags that a command runs with, errors and their exit codes, help, the table of --json, and the
// junction up that run.
package cli
