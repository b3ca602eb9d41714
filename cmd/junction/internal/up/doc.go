// Package up implements the command up, which runs the gateway. It has the layers, listeners, the
// reloading of settings, status and control.
package up
