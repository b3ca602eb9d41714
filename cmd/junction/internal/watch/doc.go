// Package watch has the commands that show messages and the console: traffic, inspect and console.
package watch
