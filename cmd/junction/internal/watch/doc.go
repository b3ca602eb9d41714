// Package watch has the commands that show messages: traffic, inspect and console.
package watch
