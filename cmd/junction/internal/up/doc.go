// Package up implements the command up, the gateway: its layers, listeners, reloading of settings,
// status and control.
package up
