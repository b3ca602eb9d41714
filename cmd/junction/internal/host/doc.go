// Package host has the commands that change files of hosts: connect, disconnect, import and tap.
package host
