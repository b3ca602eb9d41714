// Package use has the commands that send single requests to servers: the lists, call, read, prompt,
// complete and ping.
package use
