// Package host has the commands that change hosts' files: connect, disconnect, import and tap.
package host
