// Package use has the commands that use servers once: lists, call, get, read, prompt, complete, ping
// and skills.
package use
