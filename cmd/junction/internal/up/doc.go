// Package up has the command up, the gateway: its layers, listeners, settings that are read again,
// status and control.
package up
