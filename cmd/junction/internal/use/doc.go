// Package use has the commands that send single requests to servers: the list commands, call, read,
// prompt, complete and ping.
package use
