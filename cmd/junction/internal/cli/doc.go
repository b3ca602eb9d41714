// Package cli has the parts that all commands share. An [App] holds the environment, files, screens
// and flags of a command. The package also has errors with exit codes, help, the output of --json,
// and access to each running junction up.
package cli
