// Package host has the commands that change the configuration files of hosts: connect, disconnect,
// import and tap.
package host
